"""The mean weighted by how many examples a user owns: FedAvg's."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.core.pieces import pieces
from fedward.privacy.events import Adjacency


@dataclass(frozen=True, kw_only=True)
class WeightedMean:
    """Each row weighs as much as its user has examples.

        mean = Σ_i n_i Δ_i / Σ_i n_i,    over the cohort

    It guarantees nothing: the weights depend on private data and on who was drawn, so it has no
    sensitivity and takes no noise. Users who drop out keep their weight and count as zero.

    McMahan et al. 2017, algorithm 1.
    """

    needs_all_rows = False
    least_rows = 0
    missing_as_zero = True
    divisor = None  # what it divides by follows the cohort

    def sensitivity(self, bound: float, adjacency: Adjacency) -> float | None:
        return None

    def init(self, parameters: Tensor) -> tuple[Tensor, int]:
        return torch.zeros_like(parameters, dtype=torch.float64), 0

    def add(self, total: tuple[Tensor, int], row: Tensor, num_examples: int) -> tuple[Tensor, int]:
        rows, weight = total
        for sums, numbers in pieces(rows, row):
            sums.add_(numbers, alpha=num_examples)
        return rows, weight + num_examples

    def finish(self, total: tuple[Tensor, int]) -> Tensor:
        rows, weight = total
        return rows / weight if weight else rows
