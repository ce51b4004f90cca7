"""The predicted share of test examples that M replicas will certify against k."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from fedward.certificates.ceiling import best_lower
from fedward.certificates.confidence.clopper_pearson import clopper_pearson_of
from fedward.certificates.pilot import Pilot
from fedward.certificates.plan_goal import METHOD

_HALVINGS = 40


@dataclass(frozen=True, kw_only=True)
class Shares:
    """What a pilot leads one to expect of a certificate.

    Args:
      cautious: the share that counts on one standard error of bad luck, of the pilot and of the votes.
      expected: the share without it.
    """

    cautious: float
    expected: float


NONE = Shares(cautious=0.0, expected=0.0)


def predict_shares(pilot: Pilot, needed: float | None, replicas: int, error: float) -> Shares:
    """The shares of examples whose votes will reach the lower bound that is needed.

    All votes that are not for the right class are counted for one other: that is the worst they can do.

    Args:
      pilot: under the noise of the training that is planned.
      needed: the least lower bound of a top class (``needed_lower``); None if none is enough.
      replicas: M.
      error: with which one bound may fail.
    """
    if needed is None or best_lower(METHOD, replicas, error) < needed:
        return NONE
    votes = least_votes(needed, replicas, error)
    # Where most replicas agree a vote too few is still possible: half a vote keeps Φ^-1 finite.
    sure = float(ndtri(min(votes / replicas, 1.0 - 0.5 / replicas)))
    surer = float(ndtri(_with_luck(votes, replicas)))
    return Shares(
        cautious=float((pilot.cautious >= surer).mean()), expected=float((pilot.expected >= sure).mean())
    )


def least_votes(needed: float, replicas: int, error: float) -> int:
    """The fewest of M votes whose lower bound is at least this; M must be enough for it.

    >>> least_votes(0.9, 100, 0.001)
    99
    """
    bounds = clopper_pearson_of(np.arange(replicas + 1), replicas, error, "lower")
    return int(np.searchsorted(bounds, needed))


def _with_luck(votes: int, replicas: int) -> float:
    """The probability p with M p less one standard deviation of the count being so many votes."""
    low, high = votes / replicas, 1.0
    if votes >= replicas:
        # All must agree: they do in five of six cases.
        return float(math.exp(math.log(0.8413) / replicas))
    for _ in range(_HALVINGS):
        p = (low + high) / 2
        enough = replicas * p - math.sqrt(replicas * p * (1 - p)) >= votes
        low, high = (low, p) if enough else (p, high)
    return high
