"""Both error rates of a test in one: which trade-off curves their weighted sum refutes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import binom

from fedward.auditing.error_rates import ErrorRates
from fedward.base.validate import open_unit, positive

# Probability that is left out of a sum at each end, and counted in full.
_TAIL = 1e-10
# False positive rates are looked at in intervals: so many at first, and never finer than this.
_CELLS, _FINEST = 32, 1e-5
# Two sums that are equal but for rounding are equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class WeighedErrors:
    """Counted errors, and what a false positive weighs if a false negative weighs 1.

        t = w FP / n_out + FN / n_in

    Guarantee: if the true rates lie on or above a curve, FNR ≥ f(FPR), ``refutes`` says otherwise with a
    probability of at most ``error``: the weight must be fixed before the errors are counted, f must not rise.
    The errors are two independent binomial numbers, and the chance of so small a t falls with either rate;
    so the worst rates lie on the curve itself. It is cut into intervals, of each the smallest rates are
    taken, and those that do not settle it are cut again.

    One statement about a sum needs fewer trainings than two about its parts: where both have to hold, each is
    allowed half of the error, and the corner of both is further off than any likely pair.

    Args:
      rates: the errors that were counted.
      weight: w. Best is the slope of the curve, where it is as steep as the test's own.

    >>> errors = WeighedErrors(
    ...     rates=ErrorRates(false_positives=10, without=100, false_negatives=10, having=100), weight=1.0
    ... )
    >>> guessing = lambda fpr: 1 - fpr
    >>> errors.refutes(guessing, 0.05)
    True
    >>> errors.refutes(lambda fpr: max(0.0, 0.25 - fpr), 0.05)
    False
    """

    rates: ErrorRates
    weight: float

    def __post_init__(self) -> None:
        positive("weight of a false positive", self.weight)

    def refutes(self, least_fnr: Callable[[float], float], error: float) -> bool:
        """Whether errors as few as these have a chance of at most ``error``, wherever on the curve.

        Args:
          least_fnr: f: the least false negative rate at each false positive rate.
          error: the probability with which a true curve may be refuted.
        """
        open_unit("error", error)
        ends = np.linspace(0.0, 1.0, _CELLS + 1).tolist()
        cells = list(pairwise(ends))
        while cells:
            low, high = cells.pop()
            if self.chance(low, least_fnr(high)) <= error:
                continue
            middle = (low + high) / 2
            if high - low < _FINEST or self.chance(middle, least_fnr(middle)) > error:
                return False
            cells += [(low, middle), (middle, high)]
        return True

    def chance(self, fpr: float, fnr: float) -> float:
        """How likely a sum is that is no larger than what was counted, at most, if these are the rates."""
        rates, weight = self.rates, self.weight
        observed = weight * rates.false_positives / rates.without + rates.false_negatives / rates.having
        low, high = binom.ppf([_TAIL, 1 - _TAIL], rates.without, fpr)
        wrong = np.arange(max(0, int(low)), int(high) + 1)
        left = np.floor((observed - weight * wrong / rates.without) * rates.having + _ROUNDING)
        chances = binom.pmf(wrong, rates.without, fpr) * binom.cdf(left, rates.having, fnr)
        return min(1.0, float(chances.sum()) + 2 * _TAIL)


def best_weight(most: Callable[[float], float], fpr: float) -> float:
    """The slope of a curve at a false positive rate, and what a false positive should weigh there.

    Any weight gives a valid test; it is kept within reason where the curve has no slope to speak of.

    >>> best_weight(lambda fpr: min(1.0, 3 * fpr), 0.1).__round__(6)
    3.0
    """
    step = max(1e-3, fpr / 10)
    low, high = max(0.0, fpr - step), min(1.0, fpr + step)
    return min(50.0, max(0.02, (most(high) - most(low)) / (high - low)))
