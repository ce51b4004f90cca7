"""A tiny mechanism with state: noise that is correlated over rounds, as by banded matrix factorisation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from dp_accounting import DpEvent, SelfComposedDpEvent
from dp_accounting import GaussianDpEvent as Gaussian
from torch import Tensor

from fedward.base.randomness import Source, system_normal
from fedward.base.validate import positive, whole
from fedward.core.types import Cohorts, MechanismState, Sensitivity


@dataclass(frozen=True, kw_only=True)
class Correlated:
    """Takes half of a round's noise back in the next: C^-1 z with two bands.

        round t: mean + s (z_t - z_{t-1} / 2)

    A user in one round moves C times what is released by at most √(1 + 1/4 + 1/16 + ...) ≤ √(4/3).
    """

    multiplier: float
    rounds: int
    source: Source = "seeded"

    def __post_init__(self) -> None:
        positive("noise multiplier", self.multiplier)
        whole("rounds", self.rounds)

    @property
    def whole_training(self) -> int:
        return self.rounds

    def init(self, parameters: Tensor) -> MechanismState:
        return (torch.zeros(parameters.numel(), dtype=torch.float64),)

    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        size = aggregate.numel()
        normal = rng.standard_normal(size) if self.source == "seeded" else system_normal(size)
        noise, (before,) = torch.from_numpy(normal), state
        return aggregate + sensitivity.times(self.multiplier) * (noise - before / 2), (noise,)

    def event(self, ratio: float, cohorts: Cohorts) -> DpEvent:
        one = cohorts.amplify(Gaussian(self.multiplier * ratio / math.sqrt(4 / 3)))
        return SelfComposedDpEvent(one, self.rounds)
