"""The evidence of a membership attack: how sure each model is of each record's true class."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedward.attacks.inference.auc import Bools, Floats
from fedward.base.validate import InvalidType, InvalidValue

# The least positive float32: no confidence of a model is nearer to 0.
_LEAST = 1e-45


def scaled_confidence(confidences: NDArray[np.float32], labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """The logit of the confidence in each example's true class.

        φ = log(p_y / (1 - p_y)) = log p_y - log Σ_{c≠y} p_c

    The sum of the others keeps its digits where p_y has become 1. The loss is a function of it,
    -log p_y = log(1 + e^-φ).

    Args:
      confidences: softmax of the scores, ``[examples, classes]``.
      labels: the true classes.

    >>> sure = np.array([[0.5, 0.25, 0.25], [1.0, 1e-9, 0.0]], dtype=np.float32)
    >>> scaled_confidence(sure, np.array([0, 0])).round(2).tolist()
    [0.0, 20.719999313354492]

    Carlini et al. 2022.
    """
    if confidences.ndim != 2 or labels.shape != confidences.shape[:1]:
        raise InvalidValue(
            "confidences must be [examples, classes] with one label for each example, "
            f"got shapes {confidences.shape} and {labels.shape}"
        )
    others = confidences.astype(np.float64)
    rows = np.arange(len(labels))
    true = others[rows, labels]
    others[rows, labels] = 0.0
    found = np.log(np.maximum(true, _LEAST)) - np.log(np.maximum(others.sum(axis=1), _LEAST))
    return np.asarray(found, dtype=np.float32)


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Scaled confidences of a target and of shadow trainings, and which records each shadow has seen.

    Args:
      target: ``[examples]``.
      shadows: ``[shadows, examples]``.
      inside: ``[shadows, records]``, true where a shadow has seen a record.
      offsets: record r is the examples offsets[r] to offsets[r + 1] - 1, where records are users; None where
        each example is one.
    """

    target: Floats
    shadows: Floats
    inside: Bools
    offsets: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        examples = len(self.target)
        records = examples if self.offsets is None else len(self.offsets) - 1
        if self.target.shape != (examples,) or self.shadows.shape != (len(self.shadows), examples):
            raise InvalidValue(
                f"target and shadows must be of the same examples, got {self.target.shape} and "
                f"{self.shadows.shape}"
            )
        if self.inside.dtype != np.bool_:
            raise InvalidType(f"inside must be true or false, got an array of {self.inside.dtype}")
        if self.inside.shape != (len(self.shadows), records):
            raise InvalidValue(
                f"inside must be [shadows, records], ({len(self.shadows)}, {records}), "
                f"got {self.inside.shape}"
            )
        if self.offsets is not None and (
            self.offsets[0] != 0 or self.offsets[-1] != examples or (np.diff(self.offsets) < 1).any()
        ):
            raise InvalidValue(f"offsets of records must rise from 0 to the number of examples, {examples}")

    def of_records(self) -> Evidence:
        """The same with one value for each record: for a user the mean over its examples."""
        if self.offsets is None:
            return self
        return replace(self, target=self._means(self.target), shadows=self._means(self.shadows), offsets=None)

    def losses(self) -> Floats:
        """The target's loss on each record; for a user the mean over its examples."""
        loss: Floats = np.logaddexp(0.0, -self.target)
        return self._means(loss)

    def _means(self, values: Floats) -> Floats:
        if self.offsets is None:
            return values
        sums = np.add.reduceat(values, self.offsets[:-1], axis=-1)
        return np.asarray(sums / np.diff(self.offsets))
