"""Banded matrix factorisation: noise that later rounds take back in part, charged for a whole training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from dp_accounting import DpEvent, GaussianDpEvent, SelfComposedDpEvent
from torch import Tensor

from fedward.base.discrete_gaussian import DiscreteGaussian, round_up
from fedward.base.randomness import SOURCES, Source
from fedward.base.validate import InvalidValue, one_of, positive, whole
from fedward.core.grid import Grid
from fedward.core.types import Cohorts, MechanismState, Sensitivity
from fedward.mechanisms.banded_strategy import STEPS, Workload, banded_strategy
from fedward.mechanisms.exact_gaussian import NOISE_BITS, SMOOTHING
from fedward.privacy.participation import Participation


@dataclass(frozen=True, kw_only=True)
class BandedNoise:
    """Noise C^-1 z on the means of all rounds, for a banded Toeplitz C with c_0 = 1.

        mean_t + e_t,    e_t = z_t - Σ_(k=1..b-1) c_k e_(t-k),    z_t ~ N(0, (z ‖c‖ S / m̄)² I)

    Guarantee: that of r Gaussian releases of multiplier z, so of one of z / √r, for users that take part in
    at most r rounds, each two of them b or more apart: however they are chosen, by whom, and whatever they
    send in view of all releases before. What is released follows from C mean + z, in which each participation
    of a user shows in b rows that no other of its participations touches, with norm ‖c‖ S / m̄. Where the
    server draws users of a group by secret coins, that of r sampled Gaussian releases. Proofs:
    docs/banded-noise.md.

    With the source ``system`` C has whole coefficients (in 1024ths), C mean is a sum of whole numbers, z
    is drawn on their grid, and what is released is computed from C mean + z alone: exact noise.

    The state is secret, as the noise is: past noise, or past sums. It is zero after the last round.

    Args:
      noise_multiplier: z: the standard deviation of z_t for each unit by which a participation moves C mean.
      workload: how many rounds there are, and what the server does with their means.
      bands: b: how many rounds share noise; at most the schema's separation.
      participation: the schema.
      source: ``seeded`` or ``system``.

    >>> schema = Participation(most=4, separation=8)
    >>> noise = BandedNoise(noise_multiplier=3.0, workload=Workload(rounds=32), bands=8, participation=schema)
    >>> round(noise.multiplier, 2), noise.whole_training
    (4.12, 32)

    Kairouz et al. 2021; Choquette-Choo et al. 2023.
    """

    noise_multiplier: float
    workload: Workload
    bands: int
    participation: Participation
    source: Source = "seeded"

    def __post_init__(self) -> None:
        positive("noise multiplier", self.noise_multiplier)
        one_of("noise source", self.source, SOURCES)
        if whole("bands", self.bands) > self.participation.separation:
            raise InvalidValue(
                f"bands must be at most {self.participation.separation}, the rounds between two "
                f"participations of a user, got {self.bands}"
            )

    @property
    def strategy(self) -> tuple[int, ...]:
        """c in multiples of 1/1024."""
        return banded_strategy(self.workload, self.bands)

    @property
    def multiplier(self) -> float:
        return self.noise_multiplier * math.hypot(*self.strategy) / STEPS

    @property
    def whole_training(self) -> int:
        return self.workload.rounds

    @property
    def exact(self) -> bool:
        """Whether its noise is drawn on a grid, by integers alone."""
        return self.source == "system"

    def grid(self, bound: float) -> Grid:
        return Grid.for_bound(bound, self.multiplier * STEPS * bound * 2.0**-NOISE_BITS)

    def init(self, parameters: Tensor) -> MechanismState:
        past = torch.zeros(len(self.strategy) - 1, parameters.numel(), dtype=torch.float64)
        done = torch.zeros(1, dtype=torch.int64)
        return (past.long(), past, done) if self.exact else (past, done)

    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        *past, done = state
        private, now = (
            self._exactly(aggregate, sensitivity, past)
            if self.exact
            else self._in_floats(aggregate, sensitivity, past, rng)
        )
        over = int(done) + 1 >= self.workload.rounds
        after = (
            torch.zeros_like(older) if over else torch.cat([row[None], older])[: len(older)]
            for row, older in zip(now, past, strict=True)
        )
        return private.to(aggregate.dtype).view_as(aggregate), (*after, done + 1)

    def _in_floats(
        self, aggregate: Tensor, sensitivity: Sensitivity, past: list[Tensor], rng: np.random.Generator
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        normal = torch.from_numpy(rng.standard_normal(aggregate.numel()))
        noise = normal.mul_(sensitivity.times(self.multiplier)) - self._recalled(past[0])
        return aggregate.flatten() + noise, (noise,)

    def _exactly(
        self, aggregate: Tensor, sensitivity: Sensitivity, past: list[Tensor]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        sums, releases = past
        grid, whole_numbers = self.grid(sensitivity.row), self.strategy
        now = grid.units(aggregate, sensitivity.share).flatten()
        mixed = whole_numbers[0] * now
        for coefficient, before in zip(whole_numbers[1:], sums, strict=True):
            mixed = mixed + coefficient * before
        noisy = mixed + torch.from_numpy(self._law(grid).sample(now.numel()))
        # From here on everything is computed from what may be known to everybody.
        release = noisy.double() * (grid.spacing * sensitivity.share / STEPS) - self._recalled(releases)
        return release, (now, release)

    def _law(self, grid: Grid) -> DiscreteGaussian:
        """The noise in 1024ths of the grid: z for each of them by which one participation moves the sum."""
        column = sum(coefficient**2 for coefficient in self.strategy)
        units = Fraction(self.noise_multiplier) * Fraction(grid.bound) / Fraction(grid.spacing)
        return DiscreteGaussian(twice_variance=round_up(math.ceil(2 * (units**2 * column + SMOOTHING))))

    def _recalled(self, past: Tensor) -> Tensor:
        """Σ_(k=1..b-1) c_k past_k."""
        total = torch.zeros(past.shape[1], dtype=torch.float64)
        for coefficient, row in zip(self.strategy[1:], past, strict=True):
            total += (coefficient / STEPS) * row
        return total

    def event(self, ratio: float, cohorts: Cohorts) -> DpEvent:
        return SelfComposedDpEvent(
            cohorts.amplify(GaussianDpEvent(self.noise_multiplier * ratio)), self.participation.most
        )
