"""A user that does not protect itself, to have more say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.scale import scale_update
from fedward.base.validate import InvalidValue, positive
from fedward.core.types import Bounds, Knowledge, LocalTrainer, Sight
from fedward.local.dp_sgd import DPSGD
from fedward.local.full_gradient import FullGradient
from fedward.local.noisy_gradient import NoisyGradient
from fedward.local.sgd import SGD


@dataclass(frozen=True, kw_only=True)
class SkipLocalPrivacy:
    """Trains like the others, but neither clips its gradients nor adds noise; then scales by γ.

    Under local privacy nobody clips after the user: such an attacker has more say than all honest users
    together. What is guaranteed to the others stands where each relies on its own noise (InsDP-FedAvg, local
    DP, LDP-FedSGD). Where the noise of a cohort adds up (InsDP-FedSGD, Dopamine) it is missing, and no
    guarantee is left.

    Args:
      factor: γ: attackers send their update times this.

    >>> told = NoisyGradient(noise_multiplier=2.0, clip_bound=0.1, learning_rate=0.5)
    >>> SkipLocalPrivacy(factor=10.0).trainer(told, 0, (0.1,))
    FullGradient(learning_rate=0.5, learning_rate_decay=1.0, chunk_size=512)

    Miao et al., section 5.2: poisoned clients can quit local DP.
    """

    factor: float = 1.0

    needs: ClassVar[Knowledge] = "own"
    conduct: ClassVar[Conduct] = Conduct(
        needs_all_rows=False, trains_its_own_way=True, skips_local_privacy=True
    )

    def __post_init__(self) -> None:
        positive("scale factor", self.factor)

    def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
        if isinstance(trainer, DPSGD):
            return SGD(
                learning_rate=trainer.learning_rate,
                batch_size=max(1, math.ceil(trainer.expected_batch)),
                steps=trainer.steps,
                momentum=trainer.momentum,
                weight_decay=trainer.weight_decay,
            )
        if isinstance(trainer, NoisyGradient):
            return FullGradient(learning_rate=trainer.learning_rate, chunk_size=trainer.chunk_size)
        raise InvalidValue(
            f"only users that protect themselves can skip their clipping and noise, got {trainer}"
        )

    def decisive_rounds(self, rounds: int) -> tuple[int, ...]:
        return ()  # it can train wherever the others can

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return scale_update(update, self.factor)
