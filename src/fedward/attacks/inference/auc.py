"""The area under the ROC curve, and how sure one may be of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, ndtri
from scipy.stats import rankdata

from fedward.base.validate import InvalidType, InvalidValue, open_unit, whole

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A measured value, and between which bounds the true one lies with 95 % confidence."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def check_scores(scores: Any, truth: Any) -> tuple[Floats, Bools]:
    """Scores and what is true of them, checked: finite, one for each other, some of both kinds."""
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(truth)
    if labels.dtype != np.bool_:
        raise InvalidType(f"truth must be true or false for each score, got an array of {labels.dtype}")
    if values.ndim != 1 or values.shape != labels.shape:
        raise InvalidValue(
            f"scores and truth must be one row each of the same length, got {values.shape} and {labels.shape}"
        )
    if not np.isfinite(values).all():
        raise InvalidValue(f"scores must be finite, got {values[~np.isfinite(values)][0]}")
    positives = int(labels.sum())
    if positives in (0, len(labels)):
        raise InvalidValue(
            f"an ROC curve needs scores of both kinds, got {positives} positive and "
            f"{len(labels) - positives} negative"
        )
    return values, labels


def auc(scores: Any, truth: Any, error: float = 0.05) -> Interval:
    """The probability that a positive has a higher score than a negative; a tie counts one half.

        AUC = P[s₊ > s₋] + ½ P[s₊ = s₋],    interval: logit AUC ± z √Var / (AUC (1 - AUC))

    Guarantee: none for small numbers. The interval is DeLong's, on the logit scale, so it stays in (0, 1);
    where all positives are on one side of all negatives, or all scores are equal, there is no variance to
    estimate and Newcombe's score interval stands in. Both take scores for independent draws.

    Args:
      scores: higher speaks for positive.
      truth: whether each is positive.
      error: the probability of an interval that misses, about.

    >>> str(auc([0.1, 0.4, 0.35, 0.8], np.array([False, False, True, True])))
    '0.750 (0.069 to 0.992)'

    DeLong, DeLong and Clarke-Pearson 1988; Newcombe 2006, method 5.
    """
    values, labels = check_scores(scores, truth)
    open_unit("error", error)
    m, n = int(labels.sum()), int((~labels).sum())
    ranks = rankdata(values)
    above = (ranks[labels] - rankdata(values[labels])) / n
    below = 1.0 - (ranks[~labels] - rankdata(values[~labels])) / m
    found = float(above.mean())
    z = float(ndtri(1 - error / 2))
    variance = float(above.var(ddof=1) / m + below.var(ddof=1) / n) if min(m, n) > 1 else 0.0
    if variance == 0 or not 0 < found < 1:
        return _newcombe(found, m, n, z)
    middle, width = math.log(found / (1 - found)), z * math.sqrt(variance) / (found * (1 - found))
    return Interval(value=found, low=_expit(middle - width), high=_expit(middle + width))


def proportion(count: int, total: int, error: float = 0.05) -> Interval:
    """A share with its exact interval (Clopper and Pearson 1934).

    >>> str(proportion(3, 100))
    '0.030 (0.006 to 0.085)'
    """
    whole("total", total)
    if not 0 <= whole("count", count, at_least=0) <= total:
        raise InvalidValue(f"count must be at most {total}, got {count}")
    open_unit("error", error)
    low = 0.0 if count == 0 else float(betaincinv(count, total - count + 1, error / 2))
    high = 1.0 if count == total else float(betaincinv(count + 1, total - count, 1 - error / 2))
    return Interval(value=count / total, low=low, high=high)


def _newcombe(found: float, m: int, n: int, z: float) -> Interval:
    """All θ that are within z standard deviations of what was found, by Hanley and McNeil's variance."""
    star = (m + n) / 2 - 1

    def deviation(theta: float) -> float:
        shape = 1 + star * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return math.sqrt(theta * (1 - theta) * shape / (m * n))

    # At the ends nothing varies, so 0 and 1 solve their own equations: that is not the solution wanted.
    last = 1 - 1e-12
    low = brentq(lambda t: found - t - z * deviation(t), 0.0, min(found, last)) if found > 0 else 0.0
    high = brentq(lambda t: t - found - z * deviation(t), max(found, 1 - last), 1.0) if found < 1 else 1.0
    return Interval(value=found, low=float(low), high=float(high))


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
