"""What an attacker makes of rounds that share noise: one number for each turn of the canary."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedward.attacks.inference.auc import Floats
from fedward.auditing.round_law import RoundLaw
from fedward.core.algorithm import Algorithm
from fedward.mechanisms.banded_noise import BandedNoise
from fedward.mechanisms.banded_strategy import STEPS
from fedward.sampling.taking_turns import TakingTurns

TURNS = "direction in the canary's turns"
"""The table of these numbers."""


@dataclass(frozen=True, kw_only=True)
class BandedView:
    """The released means x of all rounds, with the noise that they share taken apart again: C x is public.

        y = C x = C k + z,    s_j = Σ_i c_i y_(t_j + i) / Σ_i c_i²,    z_t ~ N(0, (z ‖c‖)²)

    Turns of a user are as far apart as there are bands, so that s_j has nothing of its other turns, and a
    round of no turn shows nothing of it: s is all there is to see. At the end of a training a turn has fewer
    rounds, and s_j more noise.

    Args:
      strategy: c.
      turns: t_j: the rounds in which the canary may take part.
      rounds: of the training.
      noise: z: the noise multiplier of one turn.
      rate: with which probability the canary takes part in a turn.

    >>> view = BandedView(strategy=(1.0, 0.5), turns=(0, 2), rounds=3, noise=2.0, rate=1.0)
    >>> view.taken_apart(np.array([[1.0, 0.0, 1.0]])).tolist()
    [[1.0, 1.0]]
    >>> [round(law.std, 3) for law in view.laws]
    [2.0, 2.236]

    Kairouz et al. 2021; Choquette-Choo et al. 2023.
    """

    strategy: tuple[float, ...]
    turns: tuple[int, ...]
    rounds: int
    noise: float
    rate: float

    @classmethod
    def of(cls, algorithm: Algorithm, user: int, rounds: int) -> BandedView | None:
        """What a user shows under banded noise; None under any other."""
        mechanism, sampler = algorithm.mechanism, algorithm.sampler
        if not isinstance(mechanism, BandedNoise) or not isinstance(sampler, TakingTurns):
            return None
        separation = sampler.separation
        turns = range(user % separation, min(rounds, separation * sampler.most), separation)
        return cls(
            strategy=tuple(each / STEPS for each in mechanism.strategy),
            turns=tuple(turns),
            rounds=rounds,
            noise=mechanism.noise_multiplier,
            rate=sampler.there,
        )

    def taken_apart(self, table: Floats) -> Floats:
        """One column for each turn, from a table with one for each round, in units of a contribution."""
        mixed = np.zeros_like(table)
        for k, coefficient in enumerate(self.strategy[: self.rounds]):
            mixed[:, k:] += coefficient * table[:, : self.rounds - k]
        found = np.zeros((len(table), len(self.turns)))
        for column, first in enumerate(self.turns):
            seen = self._weights(first)
            found[:, column] = mixed[:, first : first + len(seen)] @ seen / (seen @ seen)
        return found

    @property
    def laws(self) -> tuple[RoundLaw, ...]:
        """What the claim says of each turn."""
        norm = math.hypot(*self.strategy)
        return tuple(
            RoundLaw(
                rate=self.rate,
                times=1,
                std=self.noise * norm / float(np.linalg.norm(self._weights(first))),
            )
            for first in self.turns
        )

    def _weights(self, first: int) -> Floats:
        """The coefficients that fall into the training, from a turn on."""
        return np.array(self.strategy[: self.rounds - first])
