"""Bounds from the mean and the variance of the replicas: Hoeffding's and the empirical Bernstein bound."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from fedward.base.validate import InvalidValue
from fedward.certificates.confidence.bound_input import Array, Side, check_request


def hoeffding(values: ArrayLike, error: float, side: Side) -> Array:
    """A one-sided bound on a mean that looks at nothing but the average.

        mean ∓ sqrt(log(1 / error) / (2 M))

    Guarantee: on the wrong side of the true mean with probability at most ``error``, for M independent
    values in [0, 1] with M fixed beforehand.

    Args:
      values: ``[M, ...]``, one for each replica.
      error: the probability with which the bound may fail.
      side: ``lower`` or ``upper``.

    >>> round(float(hoeffding([0.9] * 1000, 0.01, "lower")), 4)
    0.852

    Hoeffding 1963; equation 6 of Xie et al.
    """
    x = check_request(values, error, side)
    return _around(x, math.sqrt(math.log(1.0 / error) / (2 * len(x))), side)


def empirical_bernstein(values: ArrayLike, error: float, side: Side) -> Array:
    """A one-sided bound on a mean that is narrow where the replicas agree.

        mean ∓ (sqrt(2 V log(2 / error) / M) + 7 log(2 / error) / (3 (M - 1)))

    with V the sample variance.

    Guarantee: as Hoeffding's. It needs two replicas at least, and some hundreds to be the narrower one.

    Args:
      values: ``[M, ...]``, one for each replica.
      error: the probability with which the bound may fail.
      side: ``lower`` or ``upper``.

    >>> round(float(empirical_bernstein([0.9] * 1000, 0.01, "lower")), 4)
    0.8876

    Maurer and Pontil 2009, theorem 4.
    """
    x = check_request(values, error, side)
    if len(x) < 2:
        raise InvalidValue("number of replicas must be at least 2 for the empirical Bernstein bound, got 1")
    log = math.log(2.0 / error)
    width: Array = np.sqrt(2.0 * x.var(axis=0, ddof=1) * log / len(x)) + 7.0 * log / (3.0 * (len(x) - 1))
    return _around(x, width, side)


def _around(x: Array, width: Array | float, side: Side) -> Array:
    mean = x.mean(axis=0)
    bound: Array = np.clip(mean - width if side == "lower" else mean + width, 0.0, 1.0)
    return bound
