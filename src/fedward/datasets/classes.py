"""Some of the classes of a data set, with new numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidType, InvalidValue, whole


def check_classes(classes: Sequence[int] | None, num_classes: int) -> list[int]:
    """The classes to keep, in the order of their new numbers; all of them if none are given."""
    if classes is None:
        return list(range(num_classes))
    if isinstance(classes, (str, bytes)) or not isinstance(classes, Sequence):
        raise InvalidType(f"classes must be a list of numbers, got {classes!r}")
    kept = [int(whole("class", label, at_least=0)) for label in classes]
    if any(label >= num_classes for label in kept):
        raise InvalidValue(f"classes must be numbers from 0 to {num_classes - 1}, got {max(kept)}")
    if len(set(kept)) != len(kept) or len(kept) < 2:
        raise InvalidValue(f"classes must be at least 2 different numbers, got {kept}")
    return kept


def keep_classes(
    x: NDArray[Any], labels: NDArray[Any], classes: list[int]
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_]]:
    """The examples of these classes, their new labels, and which examples those are.

    >>> x, y, kept = keep_classes(np.arange(4), np.array([7, 2, 4, 7]), [2, 7])
    >>> x.tolist(), y.tolist(), kept.tolist()
    ([0, 1, 3], [1, 0, 1], [True, True, False, True])
    """
    number = np.full(max([*classes, int(labels.max(initial=0))]) + 1, -1, dtype=np.int64)
    number[classes] = np.arange(len(classes))
    y = number[labels]
    kept = y >= 0
    return (x, y, kept) if kept.all() else (x[kept], y[kept], kept)
