"""Model replacement by an attacker that knows how long an update may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.scale import scale_update
from fedward.base.validate import InvalidType, InvalidValue, positive
from fedward.core.types import Bounds, Knowledge, LocalTrainer, Sight
from fedward.local.projected_sgd import ProjectedSGD
from fedward.local.sgd import SGD


@dataclass(frozen=True, kw_only=True)
class ConstrainAndScale:
    """The attacker trains inside a ball so small that γ times its update is within the norm it knows.

        minimise L(w) over ‖w - w_t‖₂ ≤ S/γ,    Δ ← γ (w - w_t)

    Guarantee: the row that is sent is at most S long; a server that clips at S leaves it whole, to the last
    bit. ``TrainAndScale`` with a norm walks away and is shortened at the end; this one never leaves what it
    can send, and so makes the most of it.

    Args:
      local: the attacker's own steps; after each one it is brought back into the ball.
      factor: γ: attackers send their update times this.
      norm: S; None for the clip bound that the server sent in this round. A round that has none, or one
        for each layer, is refused before its training.

    >>> mine = SGD(learning_rate=0.04, batch_size=10, epochs=50)
    >>> ConstrainAndScale(local=mine, factor=20.0).trainer(mine, 250, (0.5,)).bound
    0.025

    Bagdasaryan et al. 2020; Sun, Kairouz, Suresh, McMahan 2019.
    """

    local: SGD
    factor: float
    norm: float | None = None

    needs: ClassVar[Knowledge] = "own"
    conduct: ClassVar[Conduct] = Conduct(
        needs_all_rows=False, trains_its_own_way=True, skips_local_privacy=True
    )

    def __post_init__(self) -> None:
        if not isinstance(self.local, SGD):
            raise InvalidType(f"the attacker's local training must be SGD, got {self.local!r}")
        positive("scale factor", self.factor)
        if self.norm is not None:
            positive("norm that the attacker keeps to", self.norm)

    def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
        return ProjectedSGD(sgd=self.local).at_round(round, (self._norm(bounds) / self.factor,))

    def decisive_rounds(self, rounds: int) -> tuple[int, ...]:
        return self.local.decisive_rounds(rounds)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return scale_update(update, self.factor, self._norm(sight.bounds))

    def _norm(self, bounds: Bounds) -> float:
        if self.norm is not None:
            return self.norm
        if len(bounds) != 1 or not math.isfinite(bounds[0]):
            raise InvalidValue(
                "constrain-and-scale needs a norm, or one clip bound that is finite and known before the "
                f"round, got {'none' if bounds in ((), (math.inf,)) else bounds}"
            )
        return bounds[0]
