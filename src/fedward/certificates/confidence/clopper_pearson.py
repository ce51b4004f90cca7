"""The exact bound for votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from fedward.base.validate import InvalidValue
from fedward.certificates.confidence.bound_input import Array, Side, check_request


def clopper_pearson(values: ArrayLike, error: float, side: Side) -> Array:
    """A one-sided bound on a probability, from the law of the count itself.

        lower: the p with P[Bin(M, p) >= votes] = error; 0 without a vote

    Guarantee: on the wrong side of the true probability with probability at most ``error``, for M
    independent votes with M fixed beforehand. No bound that is monotone in the count is narrower.

    Args:
      values: ``[M, ...]``, each 0 or 1. A confidence between them is refused: its count has another law.
      error: the probability with which the bound may fail.
      side: ``lower`` or ``upper``.

    >>> round(float(clopper_pearson([1] * 1000, 0.01, "lower")), 4)
    0.9954

    Clopper and Pearson 1934.
    """
    x = check_request(values, error, side)
    between = (x > 0) & (x < 1)
    if between.any():
        raise InvalidValue(f"votes must be 0 or 1 for Clopper-Pearson, got {x[between][0]}")
    if side == "upper":
        return np.asarray(1.0 - clopper_pearson(1.0 - x, error, "lower"))
    return _lower(x.sum(axis=0), len(x), error)


def clopper_pearson_of(counts: ArrayLike, replicas: int, error: float, side: Side) -> Array:
    """The same bound from how many of M replicas voted for a class.

    >>> round(float(clopper_pearson_of(1000, 1000, 0.01, "lower")), 4)
    0.9954
    """
    votes = np.asarray(counts, dtype=np.float64)
    return (
        np.asarray(1.0 - _lower(replicas - votes, replicas, error))
        if side == "upper"
        else _lower(votes, replicas, error)
    )


def _lower(votes: Array, replicas: int, error: float) -> Array:
    # The inverse is not defined for no vote; the bound is.
    found = betaincinv(np.maximum(votes, 1.0), replicas - votes + 1.0, error)
    return np.asarray(np.where(votes > 0, found, 0.0))
