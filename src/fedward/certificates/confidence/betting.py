"""The betting bound: how rich could one get by betting that the mean is larger?"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from fedward.certificates.confidence.bound_input import Array, Side, check_request

# The share of its capital that a bet may lose at most.
MOST_LOSS = 0.75
# So fine is the grid on which the bound is looked for; it is rounded to the safe side.
_HALVINGS = 26
# So many means at a time: their bets stay in the processor's cache.
_BLOCK = 4096
_TINY = 1e-290


def betting(values: ArrayLike, error: float, side: Side) -> Array:
    """A one-sided bound on a mean by betting against smaller ones, with M fixed beforehand.

        K_t(m) = Π_{i <= t} (1 + λ_i(m) (x_i - m))
        λ_i(m) = min(sqrt(2 log(1 / error) / (M v_{i-1})), c / m)
        lower  = the largest m with max_t K_t(m) >= 1 / error

    with v_{i-1} the variance of the values before i (and one of 1/4 more), c = 3/4.

    Guarantee: on the wrong side of the true mean with probability at most ``error``, for M independent
    values in [0, 1]: at the true mean the capital K_t is a martingale, and it reaches 1 / error with
    probability at most ``error`` (Ville). It depends on the order of the replicas, so that has to be fixed
    beforehand too: it is the order of their numbers.

    Args:
      values: ``[M, ...]``, one for each replica, in order.
      error: the probability with which the bound may fail.
      side: ``lower`` or ``upper``.

    >>> round(float(betting([0.9] * 1000, 0.01, "lower")), 3)
    0.894

    Waudby-Smith and Ramdas 2024, the predictable plug-in and the capital process.
    """
    x = check_request(values, error, side)
    return _bound(x, error, side, np.full(len(x), float(len(x))))


def betting_sequence(values: ArrayLike, error: float, side: Side) -> Array:
    """The betting bound that holds at all numbers of replicas at once: look whenever you like, then go on.

        as ``betting``, with t log(t + 1) in the place of M

    Guarantee: the probability that it is *ever*, for any number of replicas, on the wrong side of the true
    mean is at most ``error``. It costs some width.

    Args:
      values: ``[t, ...]``, all the replicas so far, in order.
      error: the probability with which the bound may ever fail.
      side: ``lower`` or ``upper``.

    >>> values = np.tile([0.8, 1.0], 500)
    >>> fixed, any_time = (bound(values, 0.01, "lower") for bound in (betting, betting_sequence))
    >>> bool(any_time < fixed < 0.9)
    True

    Waudby-Smith and Ramdas 2024.
    """
    x = check_request(values, error, side)
    t = np.arange(1, len(x) + 1, dtype=np.float64)
    return _bound(x, error, side, t * np.log(t + 1.0))


def _bound(x: Array, error: float, side: Side, horizon: Array) -> Array:
    if side == "upper":
        return np.asarray(1.0 - _bound(1.0 - x, error, "lower", horizon))
    flat = x.reshape(len(x), -1)
    found = [
        _lower(np.ascontiguousarray(flat[:, start : start + _BLOCK]), error, horizon)
        for start in range(0, flat.shape[1], _BLOCK)
    ]
    return np.concatenate([np.empty(0), *found]).reshape(x.shape[1:])


def _lower(x: Array, error: float, horizon: Array) -> Array:
    """The largest mean of the grid that the bets refute; they refute all smaller ones then.

    Every factor falls as m grows, whether the bet is cut off or not: so bisection finds it.
    """
    bets = np.sqrt(2.0 * math.log(1.0 / error) / horizon)[:, None] / np.sqrt(_variances_before(x))
    low, high = np.zeros(x.shape[1]), np.ones(x.shape[1])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        refuted = _largest_capital(x, bets, middle) >= 1.0 / error
        low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
    return low


def _largest_capital(x: Array, bets: Array, m: Array) -> Array:
    most, capital, largest = MOST_LOSS / m, np.ones_like(m), np.ones_like(m)
    factor, bet = np.empty_like(m), np.empty_like(m)
    # Beyond floating point a mean is refuted long since.
    with np.errstate(over="ignore"):
        for t, (value, wanted) in enumerate(zip(x, bets, strict=True)):
            np.minimum(wanted, most, out=bet)
            np.subtract(value, m, out=factor)
            factor *= bet
            factor += 1.0
            capital *= factor
            np.maximum(largest, capital, out=largest)
            if t % 64 == 63:
                # To the safe side, and before the processor slows down on denormal numbers.
                capital[capital < _TINY] = 0.0
    return largest


def _variances_before(x: Array) -> Array:
    """For each replica the variance of those before it, starting with 1/4 around a mean of 1/2."""
    seen = np.arange(2.0, len(x) + 2.0)[:, None]
    means = (0.5 + np.cumsum(x, axis=0)) / seen
    after = (0.25 + np.cumsum((x - means) ** 2, axis=0)) / seen
    return np.concatenate([np.full((1, x.shape[1]), 0.25), after[:-1]])
