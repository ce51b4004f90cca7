"""Buffered linear Toeplitz noise (BLT): correlated noise over all rounds, from a few buffers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from dp_accounting import DpEvent, GaussianDpEvent, SelfComposedDpEvent
from torch import Tensor

from fedward.base.randomness import SOURCES, Source, system_normal
from fedward.base.validate import InvalidValue, one_of, positive, whole
from fedward.core.types import Cohorts, MechanismState, Sensitivity
from fedward.mechanisms.banded_strategy import Workload
from fedward.mechanisms.buffered_strategy import MOST_BUFFERS, Buffers, check_decays, optimise_buffers
from fedward.privacy.events import fold
from fedward.privacy.participation import Participation


@dataclass(frozen=True, kw_only=True)
class BufferedNoise:
    """Noise C^-1 z on the means of all rounds, for a Toeplitz C whose coefficients decay in a few buffers.

        mean_t + e_t,    e_t = z_t - Σ_i ω_i s_i,    s_i <- λ_i s_i + e_t,    z_t ~ N(0, (z Δ S / (√r m̄))² I)

    Guarantee: that of a Gaussian release of multiplier z / √r for users that keep to the schema, however they
    are chosen and whatever they send in view of all releases before: one of them moves C mean by at most
    Δ S / m̄ over the whole training (``Buffers.sensitivity``). Proof: docs/banded-noise.md.

    Each round's noise takes back some of that of *all* rounds before, where bands end; and the state is one
    vector for each buffer, however many rounds share noise. It is drawn in floating point, from either
    source: coefficients that decay lie on no grid. Users that are drawn gain nothing: their participations
    overlap.

    The state is secret, as the noise is: it is past noise. It is zero after the last round.

    Args:
      noise_multiplier: z: on the scale of ``BandedNoise``, so that ε is the same for the same z.
      workload: how many rounds there are, and what the server does with their means.
      participation: the schema.
      buffers: how many there are.
      decays: λ; the best ones if not given.
      source: ``seeded`` or ``system``.

    >>> schema = Participation(most=4, separation=8)
    >>> work = Workload(rounds=32)
    >>> noise = BufferedNoise(noise_multiplier=3.0, workload=work, participation=schema, buffers=2)
    >>> round(noise.multiplier, 2), noise.whole_training
    (4.31, 32)

    Dvijotham et al. 2024; McMahan, Xu and Zhang 2024.
    """

    noise_multiplier: float
    workload: Workload
    participation: Participation
    buffers: int
    decays: tuple[float, ...] | None = None
    source: Source = "seeded"

    def __post_init__(self) -> None:
        positive("noise multiplier", self.noise_multiplier)
        one_of("noise source", self.source, SOURCES)
        if whole("buffers", self.buffers) > MOST_BUFFERS:
            raise InvalidValue(f"buffers must be at most {MOST_BUFFERS}, got {self.buffers}")
        if self.decays is not None:
            check_decays(self.decays)
            if len(self.decays) != self.buffers:
                raise InvalidValue(
                    f"decays must be as many as buffers, {self.buffers}, got {len(self.decays)}"
                )
            object.__setattr__(self, "decays", tuple(map(float, self.decays)))

    @property
    def strategy(self) -> Buffers:
        return optimise_buffers(self.workload, self.participation, self.buffers, self.decays)

    @property
    def multiplier(self) -> float:
        moved = self.strategy.sensitivity(self.workload.rounds, self.participation)
        return self.noise_multiplier * moved / math.sqrt(self.participation.most)

    @property
    def whole_training(self) -> int:
        return self.workload.rounds

    def init(self, parameters: Tensor) -> MechanismState:
        past = torch.zeros(self.buffers, parameters.numel(), dtype=torch.float64)
        return past, torch.zeros(1, dtype=torch.int64)

    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        past, done = state
        system = self.source == "system"
        normal = system_normal(aggregate.numel()) if system else rng.standard_normal(aggregate.numel())
        strategy = self.strategy
        noise = torch.from_numpy(normal) * sensitivity.times(self.multiplier)
        for weight, row in zip(strategy.weights, past, strict=True):
            noise -= weight * row
        if int(done) + 1 >= self.workload.rounds:
            after = torch.zeros_like(past)
        else:
            after = torch.tensor(strategy.decays, dtype=torch.float64)[:, None] * past + noise
        private = aggregate.double().flatten() + noise
        return private.to(aggregate.dtype).view_as(aggregate), (after, done + 1)

    def event(self, ratio: float, cohorts: Cohorts) -> DpEvent:
        # Coins that users are drawn by show in overlapping rounds: nothing is gained from them.
        one = GaussianDpEvent(fold(self.noise_multiplier * ratio, *cohorts.looks))
        return SelfComposedDpEvent(one, self.participation.most)
