"""Robust learning rate (RLR): coordinates in which too few rows agree go the other way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedward.aggregation.all_rows import Rule, combine_alone, combine_watched
from fedward.aggregation.mixing import memory_of, noise_of, require_mixable
from fedward.aggregation.rows import combine_columns
from fedward.aggregation.trimmed_mean import TrimmedMean
from fedward.base.validate import whole
from fedward.core.types import Memory, Watched


@dataclass(frozen=True, kw_only=True)
class RobustLearningRate:
    """The mean, with its sign turned wherever the rows do not agree enough on one.

        Δ[j] = η_j rule(Δ_1, ..., Δ_n)[j],    η_j = 1 if |Σ_i sign(Δ_i[j])| ≥ θ, -1 if not

    A backdoor's coordinates are pushed by the attackers and hardly by anybody else; there the model goes away
    from where the mean points. The paper takes θ above the number of attackers of a round.

    No guarantee of privacy: one user can turn coordinates that others decide. It has no sensitivity and takes
    no noise.

    Args:
      threshold: θ: how many more rows must have one sign than the other.
      rule: what is turned; the mean of the rows that came if not given.

    >>> rows = [[1.0, 1.0], [1.0, -0.5], [1.0, 5.0]]
    >>> RobustLearningRate(threshold=2).combine([torch.tensor(row) for row in rows])
    tensor([ 1.0000, -1.8333], dtype=torch.float64)

    Ozdayi, Kantarcioglu, Gel 2021.
    """

    threshold: int
    rule: Rule | None = None

    knows_users: ClassVar[bool] = False
    root_user: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        whole("threshold", self.threshold, at_least=0)
        require_mixable(self.turned, "the robust learning rate")

    @property
    def turned(self) -> Rule:
        """The rule whose result is turned."""
        return TrimmedMean(trimmed=0) if self.rule is None else self.rule

    @property
    def own_noise(self) -> str:
        return noise_of(self.turned)

    @property
    def least_rows(self) -> int:
        return max(1, self.turned.least_rows)

    def first_memory(self, parameters: Tensor) -> Memory:
        return memory_of(self.turned, parameters)

    def combine(self, rows: list[Tensor]) -> Tensor:
        return combine_alone(self, rows)

    def combine_watched(self, rows: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
        result, memory = combine_watched(self.turned, rows, watched)
        agreed = combine_columns(rows, lambda block: torch.sign(block).sum(0).abs(), double=False)
        return torch.where(agreed >= self.threshold, result, -result), memory
