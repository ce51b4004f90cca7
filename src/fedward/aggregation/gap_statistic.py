"""Whether numbers fall into two groups: the gap statistic, and the split of 2-means."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_REFERENCES = 20


def upper_group(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which of the numbers form the upper of two groups; none of them if they are one group.

        Gap(k) = E*[log W_k] - log W_k,    one group if Gap(1) ≥ Gap(2) - s_2

    W_k is the sum of squared distances to the means of the best split into k groups, E* and s_2 the mean and
    √(1 + 1/B) times the deviation of log W over B = 20 sets drawn evenly between the least and the greatest
    number. Numbers that are all equal are one group.

    >>> upper_group(np.array([0.1, 0.11, 0.12, 0.9, 0.1]), np.random.default_rng(0)).tolist()
    [False, False, False, True, False]

    Tibshirani, Walther, Hastie 2001.
    """
    low, high = float(values.min()), float(values.max())
    if len(values) < 3 or low == high:
        return np.zeros(len(values), dtype=bool)
    logs = np.array([_logs(rng.uniform(low, high, size=len(values))) for _ in range(_REFERENCES)])
    gap = logs.mean(axis=0) - _logs(values)
    spread = logs.std(axis=0) * math.sqrt(1 + 1 / _REFERENCES)
    if gap[0] >= gap[1] - spread[1]:
        return np.zeros(len(values), dtype=bool)
    least = float(np.sort(values)[best_split(values)])
    return np.asarray(values >= least)


def best_split(values: NDArray[np.float64]) -> int:
    """How many of the smallest numbers form the lower group of the best two: 2-means on a line, exactly."""
    ascending = np.sort(values)
    return 1 + int(np.argmin([_within(ascending, split) for split in range(1, len(values))]))


def _within(ascending: NDArray[np.float64], split: int) -> float:
    return float(split * ascending[:split].var() + (len(ascending) - split) * ascending[split:].var())


def _logs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """log W_1 and log W_2; groups without any width count as nearly so."""
    one = float(len(values) * values.var())
    two = min(_within(np.sort(values), split) for split in range(1, len(values)))
    return np.log(np.maximum([one, two], 1e-300))
