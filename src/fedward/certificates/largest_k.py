"""The largest k that holds, for many examples at once and with few curves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Holds = Callable[[int, NDArray[np.bool_]], NDArray[np.bool_]]


def largest(holds: Holds, possible: NDArray[np.bool_], most: int) -> Integers:
    """For each example the largest k, at most ``most``, for which ``holds`` says yes; -1 if k = 0 does not.

    What holds for k must hold for every smaller k. Doubling, then bisection; each k is asked once, for all
    examples that are still open there. Guarantee: a k that is returned was asked for and held.

    Args:
      holds: (k, which examples) -> whether it holds for each of those.
      possible: whether it holds for k = 0.
      most: the last k to try.

    >>> limits = np.array([3, 0, 17, 100])
    >>> largest(lambda k, open: k <= limits[open], limits > 0, 50).tolist()
    [3, -1, 17, 50]
    """
    low = np.where(possible, 0, -1).astype(np.int64)
    high = np.where(possible, most + 1, 0).astype(np.int64)
    while True:
        unfinished = high - low > 1
        if not unfinished.any():
            return low
        rising = unfinished & (high == most + 1)
        if rising.any():
            k = int(min(max(1, 2 * low[rising].max()), most))
        else:
            k = int(np.median((low[unfinished] + high[unfinished]) // 2))
        asked = (low < k) & (k < high)
        if not asked.any():
            # The median may fall between the intervals of the examples; the first of them will do.
            first = np.flatnonzero(unfinished)[0]
            k = int((low[first] + high[first]) // 2)
            asked = (low < k) & (k < high)
        answer = holds(k, asked)
        low[asked] = np.where(answer, k, low[asked])
        high[asked] = np.where(answer, high[asked], k)
