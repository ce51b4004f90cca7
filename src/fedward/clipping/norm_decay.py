"""Clip norm decay (CND): the bound falls by a factor, and further where the updates are smaller."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedward.base.validate import InvalidValue, positive, rate
from fedward.clipping.policy_methods import carry_bound, start_at_initial
from fedward.core.types import Bounds, PolicyState


@dataclass(frozen=True, kw_only=True)
class ClipNormDecay:
    """The bound decays by γ a round; in some rounds it is lowered to the noisy mean norm of the updates.

        c_{t+1} = max(c_min, min(γ c_t, c̃_t)),
        c̃_t = (1 / m̄) Σ_i min(‖Δ_i‖, c_t) + N(0, (z_c c_t / m̄)²)    for t < 10 and t = 50, 100, ...

    Guarantee: one user added or removed moves the sum of clipped norms by at most c_t, so a look has the
    noise multiplier z_c and is charged. One replaced moves it by |a - b| ≤ c_t, no further, since both norms
    lie in [0, c_t]. Rounds without a look cost nothing.

    The noisy mean can be zero or negative and the bound only ever falls, so without a floor training would
    die. The floor c_min is a public constant that the paper does not have.

    Args:
      initial: c_0: the clip bound of the first round.
      decay: γ: the clip bound is multiplied by it after every round.
      look_noise: z_c: the noise multiplier of each look at the norms.
      expected_cohort: m̄, the declared cohort size that sums are divided by.
      floor: c_min: the clip bound never falls below it. c_0 / 100 if not given.

    >>> policy = ClipNormDecay(initial=0.1, decay=0.99, look_noise=3.5, expected_cohort=20)
    >>> [t for t in range(300) if policy.looks(t)]
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 50, 100, 150, 200, 250]

    Miao et al., algorithm 2.
    """

    initial: float
    decay: float
    look_noise: float
    expected_cohort: float
    floor: float | None = None

    reads_norms = False
    per_group = False
    unproven = ""
    replaced_moves = 1.0

    def __post_init__(self) -> None:
        positive("initial clip bound", self.initial)
        rate("decay", self.decay)
        positive("noise multiplier of a look", self.look_noise)
        positive("expected cohort", self.expected_cohort)
        if self.floor is not None and positive("floor", self.floor) > self.initial:
            raise InvalidValue(f"floor must be at most the initial bound, {self.initial}, got {self.floor}")

    def looks(self, round: int) -> tuple[float, ...]:
        return (self.look_noise,) if round < 10 or round % 50 == 0 else ()

    init = start_at_initial
    bound = carry_bound

    def move(
        self, policy: PolicyState, round: int, bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> PolicyState:
        bound = policy[0]
        following = self.decay * bound
        if self.looks(round):
            noise = self.look_noise * bound / self.expected_cohort * float(rng.standard_normal())
            following = min(following, self.look(bound, norms) + noise)
        return (max(following, self._least),)

    def shown_look(self, before: float, after: float) -> tuple[float, float]:
        """Where the noisy mean lay: the bound shows it below the decayed bound and above the floor."""
        decayed = max(self.decay * before, self._least)
        return (-math.inf if after <= self._least else after, math.inf if after >= decayed else after)

    @property
    def _least(self) -> float:
        return self.floor if self.floor is not None else self.initial / 100

    def look(self, bound: float, norms: list[Bounds]) -> float:
        """The mean norm of the clipped updates; its sensitivity is bound / m̄."""
        return sum(min(norm, bound) for (norm,) in norms) / self.expected_cohort
