"""The Gaussian mechanism: noise on the aggregate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from dp_accounting import DpEvent, GaussianDpEvent
from torch import Tensor

from fedward.base.normal_parts import normal_parts
from fedward.base.randomness import SOURCES, Source
from fedward.base.validate import one_of, positive
from fedward.core.grid import Grid
from fedward.core.pieces import pieces
from fedward.core.types import Cohorts, MechanismState, Sensitivity
from fedward.mechanisms.exact_gaussian import ExactGaussian


@dataclass(frozen=True, kw_only=True)
class GaussianNoise:
    """Gaussian noise; the multiplier z is its standard deviation in units of the clip bound over the cohort.

        mean + N(0, (z S / m̄)² I)

    Guarantee: that of the Gaussian mechanism with noise multiplier z·S/m̄ divided by the sensitivity for the
    adjacency: z for one user added or removed, z/2 for one replaced.

    Args:
      multiplier: z, the papers' σ.
      source: ``seeded`` is reproducible, and whoever knows the seed can subtract the noise: for research.
        ``system`` takes every bit from the operating system and draws exactly, on a grid of integers: for
        production. Seeded noise is drawn in floating point, whose bits can betray it (Mironov 2012).

    >>> GaussianNoise(multiplier=0.0)
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: noise multiplier must be positive and finite, got 0.0
    """

    multiplier: float
    source: Source = "seeded"

    whole_training = None  # each round is charged for itself: its noise has nothing to do with that of others

    def __post_init__(self) -> None:
        positive("noise multiplier", self.multiplier)
        one_of("noise source", self.source, SOURCES)

    @property
    def exact(self) -> bool:
        """Whether its noise is drawn on a grid, by integers alone."""
        return self.source == "system"

    def grid(self, bound: float) -> Grid:
        return ExactGaussian.of(self.multiplier, bound).grid

    def init(self, parameters: Tensor) -> MechanismState:
        return ()

    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        if self.exact:
            return ExactGaussian.of(self.multiplier, sensitivity.row).release(aggregate, sensitivity), state
        deviation, place = sensitivity.times(self.multiplier), 0
        private = torch.empty_like(aggregate, dtype=torch.float64)
        flat = private.view(-1), aggregate.view(-1)
        for drawn in normal_parts(rng, aggregate.numel(), torch.get_num_threads()):
            noisy, means = (vector[place : place + len(drawn)] for vector in flat)
            for noise, mean, to in pieces(torch.from_numpy(drawn), means, noisy):
                torch.add(mean, noise.mul_(deviation), out=to)
            place += len(drawn)
        return private, state

    def event(self, ratio: float, cohorts: Cohorts) -> DpEvent:
        # The ratio is exactly 1 or 1/2: the event keeps a multiplier to the last bit.
        return cohorts.amplify(GaussianDpEvent(self.multiplier * ratio))
