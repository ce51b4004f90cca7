"""The betting bound for votes: from counts alone, true at every number of replicas at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln

from fedward.base.validate import InvalidValue
from fedward.certificates.confidence.bound_input import Array, Side, check_request

# So fine is the grid on which the bound is looked for; it is rounded to the safe side.
_HALVINGS = 50


def betting_votes(values: ArrayLike, error: float, side: Side) -> Array:
    """A bound on a probability that holds at all numbers of votes at once: look whenever you like.

        K_t(p) = B(s + 1/2, t - s + 1/2) / (B(1/2, 1/2) p^s (1 - p)^(t - s))    for s of t votes
        lower  = the largest p <= s/t with K_t(p) >= 1 / error; 0 if there is none

    Guarantee: the probability that it is *ever*, for any t, on the wrong side of the true probability is at
    most ``error``. At the true p, K_t is the capital of somebody who bets on each vote against odds of p with
    what a Beta(1/2, 1/2) prior expects by then: a martingale that starts at 1 and reaches 1 / error with at
    most that probability (Ville). It depends on counts alone, so that a tally is enough.

    Args:
      values: ``[t, ...]``, each 0 or 1.
      error: the probability with which the bound may ever fail.
      side: ``lower`` or ``upper``.

    >>> round(float(betting_votes([1] * 1000, 0.01, "lower")), 4)
    0.9914

    Robbins 1970; the bets are those of Krichevsky and Trofimov 1981.
    """
    x = check_request(values, error, side)
    between = (x > 0) & (x < 1)
    if between.any():
        raise InvalidValue(f"votes must be 0 or 1 to bet on them, got {x[between][0]}")
    return betting_votes_of(x.sum(axis=0), len(x), error, side)


def betting_votes_of(counts: ArrayLike, replicas: int, error: float, side: Side) -> Array:
    """The same bound from how many of so many replicas voted for a class.

    >>> round(float(betting_votes_of(1000, 1000, 0.01, "lower")), 4)
    0.9914
    """
    votes = np.asarray(counts, dtype=np.float64)
    if side == "upper":
        return np.asarray(1.0 - _lower(replicas - votes, replicas, error))
    return _lower(votes, replicas, error)


def _lower(votes: Array, replicas: int, error: float) -> Array:
    """The capital falls from p = 0 to the share of the votes, so bisection finds where it is large enough."""
    missing = replicas - votes
    won = betaln(votes + 0.5, missing + 0.5) - betaln(0.5, 0.5) - math.log(1.0 / error)
    low, high = np.zeros_like(votes), votes / replicas
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            odds = np.where(votes > 0, votes * np.log(middle), 0.0)
            odds += np.where(missing > 0, missing * np.log1p(-middle), 0.0)
            refuted = won >= odds
            low, high = np.where(refuted, middle, low), np.where(refuted, high, middle)
    return np.asarray(np.where(votes > 0, low, 0.0))
