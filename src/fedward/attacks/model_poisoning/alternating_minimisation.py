"""A backdoor and an inconspicuous update by turns: boosted bad steps, then steps that look honest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.alternating_sgd import AlternatingSGD
from fedward.base.validate import InvalidType, non_negative, positive, whole
from fedward.core.types import Bounds, Knowledge, LocalTrainer, Sight
from fedward.local.sgd import SGD


@dataclass(frozen=True, kw_only=True)
class AlternatingMinimisation:
    """Training by turns: one boosted step for the backdoor, then some for what an honest user would send.

        w̃ = w - λ η ∇L(bad examples; w)
        w ← w̃ after `stealth` steps down L(good examples; w) + ρ ‖(w - w_t) - δ‖₂,    δ = w_t - w_{t-1}
        Δ ← w - w_t

    The boost λ makes up for the other users, who do not push that way; the good examples keep the model right
    where it was, and the distance keeps the update near what the others sent last. In round 0, and where no
    attacker can have seen the model before, there is no distance term. Bad data say which examples are bad:
    give some under ``data``, and a ``fraction`` below 1, so that some are good. An attacker with bad or with
    good examples only takes the steps that it has examples for.

    Done differently: the paper's δ is the mean update of the others; attackers who know their own rows only
    see how the model has moved, their own share in it included. Its bad examples are few and are one batch;
    here one step takes all of an attacker's.

    Args:
      local: the steps for good examples, so many as it says; λ η of its learning rate is the length of a bad
        one. Momentum goes on through the good steps of a round, bad ones have none.
      factor: λ, the boost.
      stealth: how many good steps follow a bad one.
      distance: ρ, what the distance to the last update counts.

    >>> mine = SGD(learning_rate=0.1, batch_size=10, epochs=5)
    >>> AlternatingMinimisation(local=mine, factor=10.0).trainer(mine, 3, ())
    AlternatingSGD(sgd=SGD(learning_rate=0.1, batch_size=10, epochs=5, steps=None, momentum=0.0, \
weight_decay=0.0, learning_rate_decay=1.0), boost=10.0, stealth=10, distance=0.0001, bad=())

    Bhagoji, Chakraborty, Mittal, Calo 2019, section 3.3.
    """

    local: SGD
    factor: float
    stealth: int = 10
    distance: float = 1e-4

    needs: ClassVar[Knowledge] = "own"
    conduct: ClassVar[Conduct] = Conduct(
        needs_all_rows=False, trains_its_own_way=True, skips_local_privacy=True, compares_models=True
    )

    def __post_init__(self) -> None:
        if not isinstance(self.local, SGD):
            raise InvalidType(f"the attacker's local training must be SGD, got {self.local!r}")
        positive("boost factor", self.factor)
        whole("good steps after a bad one", self.stealth)
        non_negative("weight of the distance", self.distance)

    def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> AlternatingSGD:
        return AlternatingSGD(
            sgd=self.local.at_round(round, bounds),
            boost=self.factor,
            stealth=self.stealth,
            distance=self.distance,
        )

    def brief(self, trainer: LocalTrainer, bad: Tensor, moved: Tensor | None) -> LocalTrainer:
        if not isinstance(trainer, AlternatingSGD):
            return trainer
        told = replace(trainer, bad=tuple(torch.nonzero(bad).flatten().tolist()))
        return told if moved is None else told.towards(moved)

    def decisive_rounds(self, rounds: int) -> tuple[int, ...]:
        return self.local.decisive_rounds(rounds)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return update
