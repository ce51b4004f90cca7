"""The bounds on ε that trainings prove which had no say in the test."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.auditing.chosen_test import ChosenTest
from fedward.auditing.error_rates import ErrorRates
from fedward.auditing.noise_family import NoiseFamily
from fedward.auditing.rate_bound import least_epsilon
from fedward.auditing.seen_trainings import SeenTrainings
from fedward.auditing.weighed_errors import WeighedErrors


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was measured on the trainings kept for it.

    Args:
      for_rates, for_family: the error rates of the two tests.
      by_rates: the bound on ε that assumes nothing.
      by_family: the bound that takes the mechanism for one of the family.
      estimate: ε of the family's member that fits best: no bound.
    """

    for_rates: ErrorRates
    for_family: ErrorRates
    by_rates: float
    by_family: float
    estimate: float


def measure(chosen: ChosenTest, seen: SeenTrainings, family: NoiseFamily, error: float) -> Measured:
    """Both bounds, which hold together but for ``error``: half of it each."""
    scores = chosen.scorer(seen)
    inside, outside = scores[seen.inside], scores[~seen.inside]
    for_rates = ErrorRates.of(chosen.for_rates, inside, outside)
    for_family = ErrorRates.of(chosen.for_family, inside, outside)
    return Measured(
        for_rates=for_rates,
        for_family=for_family,
        by_rates=least_epsilon(*for_rates.upper(error / 2), family.delta),
        by_family=family.bound(WeighedErrors(rates=for_family, weight=chosen.weight), error / 2),
        estimate=family.least_epsilon(*for_family.smoothed),
    )
