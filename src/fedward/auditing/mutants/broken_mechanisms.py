"""Mechanisms that add another noise than they declare."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from fedward.base.randomness import Source
from fedward.core.types import Cohorts, Mechanism, MechanismState, Sensitivity
from fedward.privacy.accounting_events import DpEvent


@dataclass(frozen=True, kw_only=True)
class LessNoise:
    """A mechanism that adds only a share of the noise that it declares.

    Args:
      mechanism: whose noise it is.
      share: of its standard deviation: 1/2 for half the noise.
    """

    mechanism: Mechanism
    share: float = 0.5

    @property
    def multiplier(self) -> float:
        return self.mechanism.multiplier

    @property
    def source(self) -> Source:
        return self.mechanism.source

    @property
    def whole_training(self) -> int | None:
        return self.mechanism.whole_training

    def init(self, parameters: Tensor) -> MechanismState:
        return self.mechanism.init(parameters)

    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        less = replace(sensitivity, share=sensitivity.share * self.share)
        return self.mechanism.privatise(aggregate, less, state, rng)

    def event(self, ratio: float, cohorts: Cohorts) -> DpEvent:
        return self.mechanism.event(ratio, cohorts)


@dataclass(frozen=True, kw_only=True)
class OtherBound(LessNoise):
    """A mechanism that scales its noise by a bound that has nothing to do with what rows are clipped to.

    Args:
      bound: that it takes for the clip bound: of one layer of several, say, or of another round.
    """

    bound: float = 1.0

    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        return self.mechanism.privatise(aggregate, replace(sensitivity, row=self.bound), state, rng)


@dataclass(frozen=True, kw_only=True)
class ClipAfterwards(LessNoise):
    """A mechanism that adds its noise to what was not clipped, and clips the sum."""

    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        noisy, after = self.mechanism.privatise(aggregate, sensitivity, state, rng)
        longest = sensitivity.times(1.0) * 4.0
        return noisy * min(1.0, longest / max(float(noisy.norm()), 1e-30)), after
