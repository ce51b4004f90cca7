"""A row whose squared distances to the honest ones add up to no more than those of some honest one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from fedward.aggregation.rows import squared_distances
from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.agreed_row import agreed, as_sent
from fedward.attacks.model_poisoning.farthest_hidden import Direction, check_direction, moved
from fedward.attacks.model_poisoning.visible_rows import known_rows
from fedward.core.types import Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class MinSum:
    """All attackers send one row, as far from the mean as the sum of its squared distances does not betray.

        Δ ← μ + γ ∇ᵖ,    γ = max {γ : Σ_i ‖μ + γ ∇ᵖ - Δ_i‖₂² ≤ max_i Σ_j ‖Δ_i - Δ_j‖₂²}

    μ is the mean of the honest rows where the attackers know them, and otherwise of the rows that they have
    trained themselves; Δ_i are the same rows, and ∇ᵖ is -σ, -μ/‖μ‖ or -sign(μ). Since Σ_i (μ - Δ_i) = 0 the
    left side is Σ_i ‖μ - Δ_i‖² + n γ² ‖∇ᵖ‖², so γ is a square root: exact, where the paper searches by
    halving. From one row nothing is known of distances, and that row is sent. It knows no defence. It
    reads rows as they were trained, so among several model poisonings it comes first.

    Args:
      direction: ∇ᵖ: `std` (against each coordinate's deviation), `unit` (against the mean) or `sign` (against
        the mean's signs).

    >>> import torch
    >>> honest = torch.tensor([[0.0, 1.0], [4.0, 1.0]])
    >>> sight = Sight(
    ...     round=0, parameters=torch.zeros(2), bounds=(), own={9: honest[0]}, cohort=(1, 2, 9), honest=honest
    ... )
    >>> MinSum().tamper(honest[0], sight, np.random.default_rng(0))
    tensor([0., 1.])

    Shejwalkar, Houmansadr 2021, section IV.
    """

    direction: Direction = "std"

    needs: ClassVar[Knowledge] = "own"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=True)

    def __post_init__(self) -> None:
        check_direction(self.direction)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        row = agreed(self, sight, lambda: moved(known_rows(update, sight), self.direction, min_sum_reach))
        return as_sent(row, update)


def min_sum_reach(rows: Tensor, towards: Tensor) -> float:
    """The largest γ with Σ_i ‖μ + γ ∇ᵖ - Δ_i‖² ≤ max_i Σ_j ‖Δ_i - Δ_j‖²; 0 where ∇ᵖ is zero."""
    square = float(towards @ towards)
    if square == 0:
        return 0.0
    most = float(squared_distances(list(rows))[0].sum(1).max())
    spent = float((rows.mean(dim=0) - rows).square().sum())
    return math.sqrt(max(0.0, most - spent) / (len(rows) * square))
