"""A shift of every coordinate that is small enough to look honest."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from torch import Tensor

from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.visible_rows import honest_rows, own_rows
from fedward.base.validate import InvalidValue, non_negative
from fedward.core.types import Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class ALittleIsEnough:
    """All attackers send the same row: the mean of what they see, moved by z standard deviations.

        Δ_j ← μ_j - z σ_j    for every coordinate j

    μ and σ (of the rows themselves, divided by their number) are those of the honest rows where the
    attackers know them, and otherwise those of the rows that they have trained themselves. From one row no
    deviation can be seen: σ is zero and that row is sent. It reads rows as they were trained, so among
    several model poisonings it comes first.

    Args:
      deviations: z; None for the largest at which enough honest users are still expected beyond the row to
        give it a majority, which ``hidden_deviations`` computes from the numbers of users and attackers in
        the cohort: attackers must know the cohort then.

    >>> import torch
    >>> own = {0: torch.tensor([1.0, 5.0]), 4: torch.tensor([3.0, 5.0])}
    >>> sight = Sight(round=0, parameters=torch.zeros(2), bounds=(), own=own)
    >>> ALittleIsEnough(deviations=1.5).tamper(own[0], sight, np.random.default_rng(0))
    tensor([0.5000, 5.0000])

    Baruch, Baruch, Goldberg 2019.
    """

    deviations: float | None = None

    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=True)

    def __post_init__(self) -> None:
        if self.deviations is not None:
            non_negative("number of deviations", self.deviations)

    @property
    def needs(self) -> Knowledge:
        return "cohort" if self.deviations is None else "own"

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        deviations = self._deviations(sight)
        rows = own_rows(update, sight)
        if sight.honest is not None and len(honest := honest_rows(sight, "a-little-is-enough")):
            rows = honest
        rows = rows.double()
        mean, std = rows.mean(dim=0), rows.std(dim=0, correction=0)
        return (mean - deviations * std).to(update.dtype)

    def _deviations(self, sight: Sight) -> float:
        if self.deviations is not None:
            return self.deviations
        if sight.cohort is None:
            raise InvalidValue(
                "a-little-is-enough needs a number of deviations, or attackers that know the cohort, got "
                "some that know their own rows only"
            )
        return hidden_deviations(len(sight.cohort), len(sight.own))


def hidden_deviations(users: int, attackers: int) -> float:
    """How many deviations from the mean n users, m of them attackers, leave room to hide in.

        s = ⌊n/2 + 1⌋ - m,    z = Φ⁻¹((n - m - s) / (n - m))

    s honest users are needed for a majority; they are expected further out than z. It is never below zero,
    where the row is the mean itself. Attackers who are a majority could go anywhere: they stay where one
    honest user is still beyond them (s = 1).

    >>> round(hidden_deviations(50, 24), 2), hidden_deviations(10, 1)
    (1.43, 0.0)
    """
    honest = users - attackers
    supporters = max(1, users // 2 + 1 - attackers)
    if honest <= supporters:
        return 0.0
    return max(0.0, NormalDist().inv_cdf((honest - supporters) / honest))
