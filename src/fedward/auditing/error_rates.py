"""The error rates of a test that was fixed beforehand, bounded by Clopper and Pearson."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from fedward.base.validate import InvalidValue, open_unit, whole


@dataclass(frozen=True, kw_only=True)
class ErrorRates:
    """How often a test was wrong, on trainings that had no say in what it tests.

        FPR ≤ B⁻¹(1 - a; fp + 1, n_out - fp),    FNR ≤ B⁻¹(1 - a; fn + 1, n_in - fn)

    Args:
      false_positives: how often it said "in" about a training without the canary.
      without: how many such trainings there were.
      false_negatives: how often it said "out" about a training with the canary.
      having: how many of these there were.

    >>> rates = ErrorRates(false_positives=0, without=100, false_negatives=40, having=100)
    >>> fpr, fnr = rates.upper(0.05)
    >>> round(fpr, 4), round(fnr, 4)
    (0.0362, 0.5028)

    Clopper and Pearson 1934.
    """

    false_positives: int
    without: int
    false_negatives: int
    having: int

    def __post_init__(self) -> None:
        for wrong, of in ((self.false_positives, self.without), (self.false_negatives, self.having)):
            whole("trainings", of)
            if not 0 <= wrong <= of:
                raise InvalidValue(f"errors must be from 0 to {of}, the number of trainings, got {wrong}")

    @classmethod
    def of(cls, threshold: float, inside: object, outside: object) -> ErrorRates:
        """Those of "in where the score is above the threshold"."""
        having, without = np.asarray(inside, dtype=float), np.asarray(outside, dtype=float)
        return cls(
            false_positives=int((without > threshold).sum()),
            without=len(without),
            false_negatives=int((having <= threshold).sum()),
            having=len(having),
        )

    @property
    def measured(self) -> tuple[float, float]:
        """The false positive and the false negative rate as they were counted."""
        return self.false_positives / self.without, self.false_negatives / self.having

    @property
    def wrong(self) -> list[list[int]]:
        """Errors and trainings, of those without the canary and of those with it."""
        return [[self.false_positives, self.without], [self.false_negatives, self.having]]

    @property
    def smoothed(self) -> tuple[float, float]:
        """The same with half an error more of each kind: an estimate that is never 0."""
        return (
            (self.false_positives + 0.5) / (self.without + 1),
            (self.false_negatives + 0.5) / (self.having + 1),
        )

    def upper(self, error: float) -> tuple[float, float]:
        """Bounds on the false positive and the false negative rate, which both hold but for ``error``."""
        open_unit("error", error)
        return (
            _upper(self.false_positives, self.without, error / 2),
            _upper(self.false_negatives, self.having, error / 2),
        )


def _upper(wrong: int, of: int, error: float) -> float:
    return 1.0 if wrong == of else float(betaincinv(wrong + 1, of - wrong, 1 - error))
