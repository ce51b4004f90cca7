"""Certified predictions: the most attackers under which the expected prediction stays the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue, one_of, positive, whole
from fedward.certificates.checks import Floats, check_all_in_unit
from fedward.certificates.largest_k import Integers, largest
from fedward.certificates.transport import Side, transport
from fedward.privacy.group import LARGEST_GROUP, THREATS, GroupCurve, Threat, group_curve
from fedward.privacy.spending import Spending

# An example that misses by less is decided on a grid so much finer: the error falls with its square.
NEAR = 0.01
FINER = 5
MOST = LARGEST_GROUP
FORMER_MOST = 4096
"""The last k that versions before this one tried; their certificates say so."""


def margin(top: Any, runner_up: Any, curve: GroupCurve, threat: Threat) -> Floats:
    """By how much a prediction holds under the threat: it is certified where this is above 0.

        max(lower(top) - upper(runner-up), lower(top) - 1/2)

    >>> from dp_accounting import GaussianDpEvent
    >>> curve = group_curve([(GaussianDpEvent(4.0), 1)], 2)
    >>> margin([0.8, 0.6], [0.1, 0.4], curve, "inject").round(3).tolist()
    [0.416, -0.097]
    """
    least = transport(top, curve, threat, "lower")
    return np.maximum(least - transport(runner_up, curve, threat, "upper"), least - 0.5)


def certified_k(
    top: Any,
    runner_up: Any,
    spending: Spending,
    threat: Threat,
    *,
    most: int = MOST,
    interval: float = 1e-2,
) -> Integers:
    """The largest k for which each prediction is certified.

    A prediction is certified for k if, under the threat, the lower bound of the top class exceeds the upper
    bound of every other class, or exceeds 1/2.

    Guarantee: with ``top`` at most and ``runner_up`` at least the expected confidences (or shares of votes)
    of the model that was sampled, the top class of the expected confidence is the same for every attack
    by k users. What a ledger must fulfil for that, ``certifiable`` checks.

    Args:
      top: (lower bounds on) the expected confidence of the top class, one for each example.
      runner_up: (upper bounds on) the largest expected confidence of any other class.
      spending: what the training spent.
      threat: inject, present or compromise.
      most: the last k to try; a result of ``most`` means at least so many.
      interval: of the curves; a fifth of it where an example misses by less than 0.01.

    Returns:
      k for each example: 0 if only the clean prediction holds, -1 if not even that.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> rounds = [(PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)), 3)]
    >>> certified_k([0.8, 0.95, 0.5], [0.2, 0.05, 0.5], rounds, "inject").tolist()
    [14, 28, -1]

    Xie et al. 2022, for the idea of certifying by DP, with one (ε, δ) point and Lemma 1.
    """
    one_of("threat", threat, THREATS)
    whole("most", most, at_least=0)
    positive("interval", interval)
    best, second = (
        check_all_in_unit("top confidence", top),
        check_all_in_unit("runner-up confidence", runner_up),
    )
    if best.shape != second.shape or best.ndim > 1:
        raise InvalidValue(
            "top and runner-up confidences must be one each for every example, "
            f"got shapes {best.shape} and {second.shape}"
        )
    shape = best.shape
    best, second = np.atleast_1d(best), np.atleast_1d(second)

    def holds(k: int, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        found = margin(best[asked], second[asked], group_curve(spending, k, interval=interval), threat)
        near = (found <= 0) & (found > -NEAR)
        if near.any():
            finer = group_curve(spending, k, interval=interval / FINER)
            found[near] = margin(best[asked][near], second[asked][near], finer, threat)
        return found > 0

    clean = (best > second) | (best > 0.5)
    return largest(holds, clean, most).reshape(shape)


__all__ = ["FINER", "FORMER_MOST", "MOST", "NEAR", "Side", "certified_k", "margin", "transport"]
