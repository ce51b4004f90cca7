"""Copies of one training among replicas: the same confidences where chance cannot have made them the same.

Two independent trainings have other noise, and so other confidences; but confidences are stored with few
bits, some are 0 or 1 exactly, and a model that is not finite has no opinion. So two replicas with the same
scores are copies only if their scores hold more than chance agrees on:

    values · (bits of a stored score - 10)  >=  log2(10^9 M (M - 1) / 2)

The values are the different scores inside (0, 1) of all classes but the top one, on examples with an opinion.
10 bits are left to what all trainings have in common: scores need to move by a thousandth of their size.

Guarantee: M honest replicas are refused with probability below 1e-9, if their scores move that much and the
model has at least as many parameters with noise of their own as values are needed (4 in single precision for
M = 1,000). What cannot be told apart so (one example in two classes, votes) is not refused;
``notices_copies`` says it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue

_CHANCE = 1e-9
_SHARED_BITS = 10.0
# Scores that were rounded for a text are known by so many digits.
_MOST_DIGITS = 6
# Most rows hold enough in their first examples, and show how they are stored in the first rows.
_FIRST, _SAMPLED = 64, 100


def require_no_copies(rows: Iterable[NDArray[Any]], replicas: int) -> None:
    """Refuses confidences ``[n, C]`` of replicas 0, 1, 2, ... two of which are copies.

    >>> row = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 2).astype(np.float32)
    >>> require_no_copies([row, row], 2)
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: replicas must not share their randomness, got the same scores from \
0 and 1: copies of one training, or trainings whose noise does not show
    """
    first: dict[bytes, int] = {}
    precision = 0.0
    for number, row in enumerate(rows):
        if number < _SAMPLED:
            precision = max(precision, _precision(_free(row[:_FIRST])))
        digest = hashlib.blake2b(np.ascontiguousarray(row).tobytes(), digest_size=16).digest()
        other = first.setdefault(digest, number)
        if other != number and _enough(row, replicas, precision):
            raise InvalidValue(
                "replicas must not share their randomness, got the same scores from "
                f"{other} and {number}: copies of one training, or trainings whose noise does not show"
            )


def notices_copies(scores: NDArray[Any]) -> bool:
    """Whether a copy of any of these replicas, ``[M, n, C]``, would be noticed.

    >>> coarse = np.array([[[0.9, 0.1]], [[0.8, 0.2]]], dtype=np.float32)
    >>> notices_copies(coarse), notices_copies(np.random.default_rng(0).dirichlet([1.0] * 5, (2, 1)))
    (False, True)
    """
    precision = max(_precision(_free(row[:_FIRST])) for row in scores[:_SAMPLED])
    return all(_enough(row, len(scores), precision) for row in scores)


def _enough(row: NDArray[Any], replicas: int, precision: float) -> bool:
    """Whether two trainings must agree in too much by chance to have this row in common."""
    needed = math.log2(max(1, replicas * (replicas - 1) / 2) / _CHANCE)
    bits = max(0.0, precision - _SHARED_BITS)
    return any(len(_free(part)) * bits >= needed for part in (row[:_FIRST], row))


def _free(row: NDArray[Any]) -> NDArray[Any]:
    """The different scores that are free to vary: a top class has what the others leave."""
    opinion = row[row.max(axis=1) > row.min(axis=1)]
    others = np.ones(opinion.shape, dtype=np.bool_)
    others[np.arange(len(opinion)), opinion.argmax(axis=1)] = False
    found: NDArray[Any] = np.unique(opinion[others & (opinion > 0) & (opinion < 1)])
    return found


def _precision(values: NDArray[Any]) -> float:
    """The bits that scores are stored with, as they show it themselves: a type may hold coarser ones.

    >>> numbers = np.random.default_rng(0).uniform(0.1, 0.9, size=50)
    >>> [int(_precision(numbers.astype(kind).astype(np.float64))) for kind in ("f2", "f4", "f8")]
    [11, 24, 53]
    >>> [round(_precision(np.round(numbers, 2).astype(kind)), 2) for kind in ("f4", "f8")]
    [6.64, 6.64]
    """
    if not len(values):
        return 0.0
    # Half precision is too small to be rounded in.
    wide = values.astype(np.promote_types(values.dtype, np.float32))
    mantissas = np.ldexp(np.frexp(wide.astype(np.float64))[0], 53).astype(np.int64)
    binary = 53 - math.log2(int((mantissas & -mantissas).min()))
    digits = (d for d in range(1, _MOST_DIGITS + 1) if np.array_equal(np.round(wide, d), wide))
    return min(binary, next(digits, math.inf) * math.log2(10))
