"""The mean over the expected cohort."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.base.validate import one_of, positive
from fedward.core.pieces import pieces
from fedward.privacy.events import ADJACENCIES, Adjacency


@dataclass(frozen=True, kw_only=True)
class Mean:
    """The sum of the rows divided by the *expected* cohort size.

        mean = (1 / m̄) Σ_i Δ_i,    m̄ = qN declared, not counted

    Guarantee: with rows of norm at most S, one user added, removed or zeroed moves it by at most S/m̄; one
    replaced by another (or a user whose data is replaced) by at most 2S/m̄. The divisor is a public
    constant: it moves neither when a user joins or leaves nor when one drops out.

    >>> mean = Mean(expected_cohort=16)
    >>> mean.sensitivity(0.5, "add/remove"), mean.sensitivity(0.5, "replace-one")
    (0.03125, 0.0625)

    McMahan et al. 2018.
    """

    expected_cohort: float

    needs_all_rows = False
    least_rows = 0
    missing_as_zero = True

    def __post_init__(self) -> None:
        positive("expected cohort", self.expected_cohort)

    @property
    def divisor(self) -> float:
        return self.expected_cohort

    def sensitivity(self, bound: float, adjacency: Adjacency) -> float | None:
        one_of("adjacency", adjacency, ADJACENCIES)
        rows = 1.0 if adjacency in ("add/remove", "zero-out") else 2.0
        return rows * bound / self.expected_cohort

    def init(self, parameters: Tensor) -> Tensor:
        # Double precision: the sum of many float32 rows must not lose what its sensitivity counts on.
        return torch.zeros_like(parameters, dtype=torch.float64)

    def add(self, total: Tensor, row: Tensor, num_examples: int) -> Tensor:
        for sums, numbers in pieces(total, row):
            sums.add_(numbers)
        return total

    def finish(self, total: Tensor) -> Tensor:
        return total / self.expected_cohort
