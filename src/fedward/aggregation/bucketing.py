"""Bucketing, in front of any rule: rows are averaged in small random groups first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedward.aggregation.all_rows import Rule, combine_alone, combine_watched
from fedward.aggregation.column_blocks import of_blocks
from fedward.aggregation.mixing import memory_of, noise_of, require_mixable
from fedward.base.validate import whole
from fedward.core.types import Memory, Watched


@dataclass(frozen=True, kw_only=True)
class Bucketing:
    """A rule on the means of random buckets of s rows.

        π a random order of the n rows,    y_b = mean of Δ_π(i) over the b-th s places,    Δ = rule(y_1, ...)

    There are ⌈n/s⌉ buckets, the last may be smaller. What is left of f bad rows is at most f bad buckets, so
    the rule must bear that many of ⌈n/s⌉. Means of buckets differ less than users do.

    No guarantee of privacy: that of the rule, which is none. It takes no noise.

    Args:
      rule: what combines the means of the buckets. It must not go by who sent a row.
      size: s: how many rows are averaged.

    >>> import torch
    >>> from fedward.aggregation.median import CoordinateMedian
    >>> rows = [torch.tensor([1.0])] * 5 + [torch.tensor([901.0])]
    >>> Bucketing(rule=CoordinateMedian(), size=2).combine(rows)
    tensor([1.], dtype=torch.float64)

    Karimireddy, He, Jaggi 2022, algorithm 1.
    """

    rule: Rule
    size: int = 2

    knows_users: ClassVar[bool] = False
    root_user: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        whole("size of a bucket", self.size)
        require_mixable(self.rule, "bucketing")

    @property
    def own_noise(self) -> str:
        return noise_of(self.rule)

    @property
    def least_rows(self) -> int:
        return (self.rule.least_rows - 1) * self.size + 1

    def first_memory(self, parameters: Tensor) -> Memory:
        return memory_of(self.rule, parameters)

    def combine(self, rows: list[Tensor]) -> Tensor:
        return combine_alone(self, rows)

    def combine_watched(self, rows: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
        order = watched.rng.permutation(len(rows)).tolist()
        means = torch.empty(-(-len(rows) // self.size), len(rows[0]), dtype=torch.float64)
        of_blocks([rows[i] for i in order], self._means, into=means)
        return combine_watched(self.rule, list(means), watched)

    def _means(self, block: Tensor) -> Tensor:
        """The means of so many neighbouring rows each; divided first, so that no sum overflows."""
        whole = len(block) // self.size * self.size
        means = (block[:whole] / self.size).view(-1, self.size, block.shape[1]).sum(1)
        rest = block[whole:]
        return torch.cat([means, (rest / len(rest)).sum(0, keepdim=True)]) if len(rest) else means
