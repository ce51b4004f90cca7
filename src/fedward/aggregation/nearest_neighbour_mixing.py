"""Nearest-neighbour mixing, in front of any rule: every row becomes the mean of the rows nearest to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedward.aggregation.all_rows import Rule, combine_alone, combine_watched
from fedward.aggregation.mixing import memory_of, noise_of, require_mixable
from fedward.aggregation.rows import squared_distances, weighted_sums
from fedward.base.validate import whole
from fedward.core.types import Memory, Watched


@dataclass(frozen=True, kw_only=True)
class NearestNeighbourMixing:
    """A rule on mixed rows: each is the mean of its n - f nearest, itself among them.

        y_i = (1 / (n - f)) Σ_{j among the n - f nearest of i} Δ_j,    Δ = rule(y_1, ..., y_n)

    Of equally near rows the earlier ones are taken. Users whose data differ look more alike after mixing, so
    that a rule takes fewer of them for bad: with it the usual rules reach the best order of error that is
    possible where users differ.

    No guarantee of privacy: one user can change which rows are mixed. It has no sensitivity and takes no
    noise.

    Args:
      rule: what combines the mixed rows. It must not go by who sent them.
      malicious: f, how many bad rows a round may hold.

    >>> from fedward.aggregation.median import CoordinateMedian
    >>> rows = [[0.0], [1.0], [2.0], [900.0]]
    >>> mixing = NearestNeighbourMixing(rule=CoordinateMedian(), malicious=1)
    >>> mixing.combine([torch.tensor(row) for row in rows])
    tensor([1.], dtype=torch.float64)

    Allouah et al. 2023, algorithm 2.
    """

    rule: Rule
    malicious: int

    knows_users: ClassVar[bool] = False
    root_user: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        whole("number of malicious rows", self.malicious, at_least=0)
        require_mixable(self.rule, "nearest-neighbour mixing")

    @property
    def own_noise(self) -> str:
        return noise_of(self.rule)

    @property
    def least_rows(self) -> int:
        return max(self.malicious + 1, self.rule.least_rows)

    def first_memory(self, parameters: Tensor) -> Memory:
        return memory_of(self.rule, parameters)

    def combine(self, rows: list[Tensor]) -> Tensor:
        return combine_alone(self, rows)

    def combine_watched(self, rows: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
        return combine_watched(self.rule, mix_nearest(rows, len(rows) - self.malicious), watched)


def mix_nearest(rows: list[Tensor], nearest: int) -> list[Tensor]:
    """For every row the mean of so many rows nearest to it, in double precision."""
    squared = squared_distances(rows)
    weights = torch.zeros(len(rows), len(rows), dtype=torch.float64)
    for place in range(len(rows)):
        order = torch.arange(len(rows))
        for matrix in reversed(squared):  # the second tells apart what is infinite in the first
            order = order[torch.argsort(matrix[place][order], stable=True)]
        weights[place, order[:nearest]] = 1 / nearest
    return weighted_sums(rows, weights)
