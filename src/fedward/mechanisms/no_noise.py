"""No mechanism: the aggregate as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from dp_accounting import DpEvent, NonPrivateDpEvent
from torch import Tensor

from fedward.base.randomness import Source
from fedward.core.types import Cohorts, MechanismState, Sensitivity


@dataclass(frozen=True, kw_only=True)
class NoNoise:
    """No noise, and so no guarantee."""

    multiplier: ClassVar[float] = 0.0
    source: ClassVar[Source] = "seeded"
    whole_training = None  # there is nothing to charge for

    def init(self, parameters: Tensor) -> MechanismState:
        return ()

    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        # A zero is added, as noise would be: that makes a negative zero positive, as in all stored runs.
        return aggregate + 0.0, state

    def event(self, ratio: float, cohorts: Cohorts) -> DpEvent:
        return NonPrivateDpEvent()
