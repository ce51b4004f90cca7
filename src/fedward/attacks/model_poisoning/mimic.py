"""Attackers that all send what one honest user sends: over-weighting it without a single bad row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.agreed_row import agreed, as_sent
from fedward.attacks.model_poisoning.visible_rows import honest_rows
from fedward.core.types import Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class Mimic:
    """All attackers send a copy of one honest row: the one farthest out where the honest rows differ most.

        Δ ← Δ_i*,    i* = argmax_i |⟨z, Δ_i⟩|,    z = argmax_{‖z‖ = 1} Σ_i ⟨z, Δ_i - μ⟩²

    No rule can tell such a row from an honest one, since it is one. Where users hold different data, a rule
    that takes few rows or the middle ones comes to know this one user's data instead of everybody's. Of equal
    ones the earliest is copied. A cohort without honest rows has nobody to copy: zeros are sent.

    Done differently from the paper, whose workers are in every round: there z is learned over the first
    rounds (Oja's rule) and i* is then kept. Here cohorts are drawn, so z is the first principal direction of
    the honest rows of this round, found exactly, and i* is this round's.

    >>> sight = Sight(
    ...     round=0,
    ...     parameters=torch.zeros(2),
    ...     bounds=(),
    ...     own={0: torch.zeros(2)},
    ...     cohort=(0, 1, 2, 3),
    ...     honest=torch.tensor([[1.0, 0.0], [2.0, 0.1], [9.0, 0.0]]),
    ... )
    >>> Mimic().tamper(torch.zeros(2), sight, np.random.default_rng(0))
    tensor([9., 0.])

    Karimireddy, He, Jaggi 2022, section 3.
    """

    needs: ClassVar[Knowledge] = "cohort"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=True, discards_update=True)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        honest = honest_rows(sight, "mimic")
        if not len(honest):
            return torch.zeros_like(update)
        return as_sent(agreed(self, sight, lambda: honest[farthest_out(honest)]), update)


def farthest_out(rows: Tensor) -> int:
    """The place of the row with the largest |⟨z, Δ_i⟩|, z the first principal direction of the rows."""
    rows = rows.double()
    rows = rows / max(float(rows.abs().max()), 1e-300)  # squares of huge numbers would overflow
    centred = rows - rows.mean(dim=0)
    # ⟨z, Δ_i⟩ for z = Σ_j v_j (Δ_j - μ), with v the first eigenvector of the small matrix of inner products.
    vector = torch.linalg.eigh(centred @ centred.T).eigenvectors[:, -1]
    return int(torch.argmax((rows @ (centred.T @ vector)).abs()))
