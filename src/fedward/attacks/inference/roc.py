"""The ROC curve of an attack that tells two kinds apart, and the rates that are read off it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedward.attacks.inference.auc import Bools, Floats, Interval, auc, check_scores, proportion
from fedward.base.validate import open_unit

RATES = (0.001, 0.01, 0.1)
"""False positive rates at which attacks are compared: averages hide what happens to a few."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One threshold: the score of the ⌊αn⌋ + 1st negative from the top, and all that lies above it.

    Guarantee: for independent scores both intervals are exact, the choice of the threshold included: it
    reads negatives only, and the share of negatives above one of their own order statistics has the law that
    Clopper and Pearson's interval is made from.

    Args:
      rate: α, the share of false positives that was asked for.
      threshold: scores above it are called positive.
      fpr: false positive rate.
      tpr: true positive rate.
    """

    rate: float
    threshold: float
    fpr: Interval
    tpr: Interval


@dataclass(frozen=True, kw_only=True, eq=False)
class Roc:
    """What an attack's scores are worth.

    Args:
      auc: area under the curve.
      points: at the rates that were asked for; those that this many negatives cannot resolve are missing.
      unresolved: these rates. With n negatives nothing can be said about rates below 1/n.
      best_accuracy: the best (TPR + TNR)/2 over all thresholds: chosen with hindsight, so a little high.
      positives, negatives: how many there are.
      fpr, tpr: the whole curve, from (0, 0) to (1, 1).
    """

    auc: Interval
    points: tuple[Point, ...]
    unresolved: tuple[float, ...]
    best_accuracy: float
    positives: int
    negatives: int
    fpr: Floats
    tpr: Floats

    @classmethod
    def of(cls, scores: Any, truth: Any, *, rates: Sequence[float] = RATES, error: float = 0.05) -> Roc:
        """Measures scores of which it is known what they are about.

        Args:
          scores: higher speaks for positive.
          truth: whether each is positive.
          rates: false positive rates to read the curve at.
          error: the probability with which an interval may miss.

        >>> found = Roc.of([0.1, 0.4, 0.35, 0.8], np.array([False, False, True, True]), rates=(0.01, 0.5))
        >>> found.auc.value, found.best_accuracy, found.unresolved, found.points[0].tpr.value
        (0.75, 0.75, (0.01,), 1.0)

        Carlini et al. 2022 for low false positive rates.
        """
        values, labels = check_scores(scores, truth)
        for rate in rates:
            open_unit("false positive rate", rate)
        negatives = int((~labels).sum())
        fpr, tpr = _curve(values, labels)
        return cls(
            auc=auc(values, labels, error),
            points=tuple(_points(values, labels, rates, error)),
            unresolved=tuple(rate for rate in rates if _count_allowed(rate, negatives) < 1),
            best_accuracy=float(((tpr + 1 - fpr) / 2).max()),
            positives=int(labels.sum()),
            negatives=negatives,
            fpr=fpr,
            tpr=tpr,
        )

    def at(self, rate: float) -> Point | None:
        """The point for a false positive rate; None if it cannot be resolved or was not asked for."""
        return next((point for point in self.points if point.rate == rate), None)

    def to_json(self) -> dict[str, Any]:
        """Everything but the curve, as plain values."""
        return {
            "auc": vars(self.auc),
            "tpr_at_fpr": {
                f"{point.rate:g}": {"tpr": vars(point.tpr), "fpr": vars(point.fpr)} for point in self.points
            },
            "unresolved_fpr": list(self.unresolved),
            "best_balanced_accuracy": self.best_accuracy,
            "positives": self.positives,
            "negatives": self.negatives,
        }


def _count_allowed(rate: float, negatives: int) -> int:
    """How many negatives may lie above the threshold; 0.07 * 100 must count as 7."""
    return math.floor(rate * negatives + 1e-9)


def _points(values: Floats, labels: Bools, rates: Sequence[float], error: float) -> Iterator[Point]:
    falling = np.sort(values[~labels])[::-1]
    for rate in rates:
        allowed = _count_allowed(rate, len(falling))
        if allowed < 1:
            continue
        threshold = float(falling[allowed])
        above = values > threshold
        yield Point(
            rate=rate,
            threshold=threshold,
            fpr=proportion(int((above & ~labels).sum()), len(falling), error),
            tpr=proportion(int((above & labels).sum()), int(labels.sum()), error),
        )


def _curve(values: Floats, labels: Bools) -> tuple[Floats, Floats]:
    """False and true positive rates at every threshold there is."""
    order = np.argsort(-values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)
    true = np.cumsum(labels[order])[ends]
    false = ends + 1 - true
    return np.append(0.0, false / false[-1]), np.append(0.0, true / true[-1])
