"""Adaptive clipping to a quantile of the update norms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedward.base.validate import InvalidValue, open_unit, positive
from fedward.clipping.policy_methods import carry_bound, start_at_initial
from fedward.core.types import Bounds, PolicyState
from fedward.privacy.events import multiplier

# Public limits: norms of zero or without end must not drive the bound out of floating point.
_LEAST, _MOST = 1e-10, 1e10


@dataclass(frozen=True, kw_only=True)
class Quantile:
    """The bound moves so that a fraction γ of the updates lies within it.

        b̃ = 1/2 + (1 / m̄) (Σ_i (1[‖Δ_i‖ ≤ C] - 1/2) + N(0, σ_b²)),    C ← C · exp(-η (b̃ - γ))

    The bits are computed at the server: a user that lies about its own bit would be trusted otherwise. They
    are about the fraction *within* the bound; with the clipped fraction the bound would run away.

    Guarantee: a centred bit is ±1/2, so one user added or removed moves the sum by 1/2 and a look in every
    round has the noise multiplier 2σ_b. One replaced turns +1/2 into -1/2 and moves the sum by 1, twice as
    far. To keep a total z, give the model z_Δ = (z⁻² - (2σ_b)⁻²)^(-1/2) (``model_noise``). The bound moves
    after the round's noise was drawn.

    Args:
      initial: C_0: the clip bound of the first round.
      quantile: γ: the share of updates that the clip bound is to let through.
      bit_noise: σ_b: noise on the sum of bits. About m̄ / 20.
      expected_cohort: m̄, the declared cohort size that sums are divided by.
      learning_rate: η_C: the length of the bound's step, in logarithms.

    >>> policy = Quantile(initial=0.1, quantile=0.5, bit_noise=1.0, expected_cohort=20)
    >>> policy.looks(7)
    (2.0,)

    Andrew, Thakkar, McMahan, Ramaswamy 2021.
    """

    initial: float
    quantile: float
    bit_noise: float
    expected_cohort: float
    learning_rate: float = 0.2

    reads_norms = False
    per_group = False
    unproven = ""
    replaced_moves = 2.0

    def __post_init__(self) -> None:
        if not _LEAST <= positive("initial clip bound", self.initial) <= _MOST:
            raise InvalidValue(f"initial clip bound must be from {_LEAST} to {_MOST}, got {self.initial}")
        open_unit("quantile", self.quantile)
        positive("noise of the bits", self.bit_noise)
        positive("expected cohort", self.expected_cohort)
        positive("learning rate of the bound", self.learning_rate)

    def model_noise(self, total: float) -> float:
        """z_Δ: the multiplier left for the model when model and bits together shall have ``total``."""
        return noise_beside(total, 2 * self.bit_noise)

    def looks(self, round: int) -> tuple[float, ...]:
        return (2 * self.bit_noise,)

    init = start_at_initial
    bound = carry_bound

    def move(
        self, policy: PolicyState, round: int, bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> PolicyState:
        noisy_sum = self.look(policy[0], norms) + self.bit_noise * float(rng.standard_normal())
        fraction = 0.5 + noisy_sum / self.expected_cohort
        # In logarithms: a step can be larger than the exponential function takes.
        moved = math.log(policy[0]) - self.learning_rate * (fraction - self.quantile)
        return (math.exp(min(max(moved, math.log(_LEAST)), math.log(_MOST))),)

    def shown_look(self, before: float, after: float) -> tuple[float, float]:
        """The noisy sum of bits that moved the bound; open to one side where a limit held the bound."""
        fraction = self.quantile - math.log(after / before) / self.learning_rate
        noisy_sum = (fraction - 0.5) * self.expected_cohort
        return (
            -math.inf if after >= _MOST else noisy_sum,
            math.inf if after <= _LEAST else noisy_sum,
        )

    def look(self, bound: float, norms: list[Bounds]) -> float:
        """The sum of centred bits; its sensitivity is 1/2."""
        return sum(0.5 if norm <= bound else -0.5 for (norm,) in norms)


def noise_beside(total: float, look: float) -> float:
    """The model's noise multiplier that makes (total) together with a look in the same round.

        z_Δ = (z⁻² - z_look⁻²)^(-1/2)

    >>> round(noise_beside(2.4, 4.0), 12)
    3.0
    """
    left = multiplier(total) ** -2 - look**-2 if look > total else 0.0
    if left <= 0:
        raise InvalidValue(f"looks must have more noise than both together, {total}, got {look}")
    return float(left**-0.5)
