"""Certified attack cost: how far k attackers can push the expected cost of their attack down.

A cost C measures how far a model is from what the attacker wants, such as its loss on backdoored examples.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue, one_of, positive, real, whole
from fedward.certificates.largest_k import largest
from fedward.certificates.paper import lemma_1
from fedward.certificates.prediction import FINER, MOST, NEAR
from fedward.certificates.transport import transport
from fedward.privacy.group import THREATS, GroupCurve, Threat, group_curve
from fedward.privacy.spending import Spending


def theorem_3(
    cost: float, cost_bound: float, epsilon: float, delta: float, k: int, *, negative: bool = False
) -> tuple[float, float]:
    """The least and the largest expected cost under k attackers, as published.

        max(e^-kε J - δ C̄ (1 - e^-kε)/(e^ε - 1), 0) <= J' <= min(e^kε J + δ C̄ (e^kε - 1)/(e^ε - 1), C̄)

    for costs in [0, C̄]; for costs in [-C̄, 0] the same bounds on -J'. Guarantee: none beyond the paper's
    unless C̄ was fixed beforehand and no cost exceeds it: the paper sets it above the largest cost observed.

    Args:
      cost: J, the expected cost of the model that was sampled.
      cost_bound: C̄.
      epsilon, delta: what the training spent.
      k: how many attackers.
      negative: costs lie in [-C̄, 0].

    >>> [round(bound, 4) for bound in theorem_3(0.3, 0.5, 0.3672, 0.0029, 2)]
    [0.1422, 0.5]
    """
    _check_cost(cost, cost_bound, negative)
    group_epsilon, group_delta = lemma_1(epsilon, delta, k)
    size = abs(cost)
    low = max(math.exp(-group_epsilon) * (size - min(group_delta, 1.0) * cost_bound), 0.0)
    high = cost_bound
    if size == 0 or group_epsilon < 700:
        high = min(_grown(size, group_epsilon) + group_delta * cost_bound, cost_bound)
    return (-high, -low) if negative else (low, high)


def corollary_1(
    cost: float, cost_bound: float, tau: float, epsilon: float, delta: float, *, negative: bool = False
) -> float:
    """How many attackers it takes at least to divide the expected cost by τ (below 0: to multiply it).

        k >= (1/ε) log [((e^ε - 1) J τ + C̄ δ τ) / ((e^ε - 1) J + C̄ δ τ)]                costs in [0, C̄]
        k >= (1/ε) log [((e^ε - 1) J τ - C̄ δ) / ((e^ε - 1) J - C̄ δ)]                    costs in [-C̄, 0]

    Infinite if no number of attackers can do it, as far as this bound tells.

    >>> round(corollary_1(0.3, 0.5, 2.0, 0.3672, 0.0029), 3)
    1.858
    """
    _check_cost(cost, cost_bound, negative)
    _check_tau(cost, cost_bound, tau, negative)
    lemma_1(epsilon, delta, 1)
    size = abs(cost)
    if size == 0 or tau == 1:
        return 0.0
    # e^ε - 1, or 1 with all else divided by it where it is large.
    x, scale = (math.expm1(epsilon), 1.0) if epsilon < 1 else (1.0, 1.0 / math.expm1(min(epsilon, 700.0)))
    slack = cost_bound * delta * scale
    if epsilon == 0:
        if delta == 0:
            return math.inf
        return size * (tau - 1) / slack if negative else size * (tau - 1) / (slack * tau)
    if negative:
        change = x * size * (tau - 1) / (x * size + slack)
    else:
        change = x * size * (tau - 1) / (x * size + slack * tau)
    return math.log1p(change) / epsilon


def cost_bounds(
    cost: float, cost_bound: float, curve: GroupCurve, threat: Threat, *, negative: bool = False
) -> tuple[float, float]:
    """The least and the largest expected cost under the threat, from the whole curve of a group of k.

    Guarantee: for min(C, C̄), whatever the cost C >= 0 is, if C̄ was fixed before any cost was seen (for
    costs below 0: max(C, -C̄)). ``cost`` must be the mean of the same clipped cost, or a bound on it.

    Args:
      cost: J, the expected clipped cost of the model that was sampled.
      cost_bound: C̄.
      curve: of the group of k.
      threat: inject, present or compromise.
      negative: costs lie in [-C̄, 0].

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> rounds = [(PoissonSampledDpEvent(0.1, GaussianDpEvent(2.5)), 3)]
    >>> [round(bound, 4) for bound in cost_bounds(0.3, 0.5, group_curve(rounds, 2), "inject")]
    [0.2721, 0.3255]
    """
    _check_cost(cost, cost_bound, negative)
    share = min(1.0, abs(cost) / cost_bound)
    low = cost_bound * float(transport(share, curve, threat, "lower"))
    high = cost_bound * float(transport(share, curve, threat, "upper"))
    return (-high, -low) if negative else (low, high)


def attackers_needed(
    cost: float,
    cost_bound: float,
    tau: float,
    spending: Spending,
    threat: Threat,
    *,
    negative: bool = False,
    most: int = MOST,
) -> int | None:
    """How many attackers it takes at least to divide the expected cost by τ (below 0: to multiply it).

    Guarantee: with fewer, every attack leaves the expected clipped cost above J/τ (below 0: above τJ).
    None if ``most`` attackers are not enough.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> rounds = [(PoissonSampledDpEvent(0.1, GaussianDpEvent(2.5)), 3)]
    >>> attackers_needed(0.3, 0.5, 2.0, rounds, "inject")
    12
    """
    _check_cost(cost, cost_bound, negative)
    _check_tau(cost, cost_bound, tau, negative)
    one_of("threat", threat, THREATS)
    whole("most", most)
    goal = cost * tau if negative else cost / tau

    def room(k: int, interval: float) -> float:
        curve = group_curve(spending, k, interval=interval)
        return cost_bounds(cost, cost_bound, curve, threat, negative=negative)[0] - goal

    def holds(k: int, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        left = room(k, 1e-2)
        if -NEAR * cost_bound < left <= 0:
            left = room(k, 1e-2 / FINER)
        return np.full(int(asked.sum()), left > 0)

    survived = int(largest(holds, np.array([cost > goal]), most)[0])
    return None if survived == most else survived + 1


def _grown(size: float, exponent: float) -> float:
    return size * math.exp(exponent) if size else 0.0


def _check_cost(cost: float, cost_bound: float, negative: bool) -> None:
    positive("cost bound", cost_bound)
    real("cost", cost)
    low, high = (-cost_bound, 0.0) if negative else (0.0, cost_bound)
    if not low <= cost <= high:
        raise InvalidValue(f"cost must be from {low:g} to {high:g}, got {cost}")


def _check_tau(cost: float, cost_bound: float, tau: float, negative: bool) -> None:
    if real("tau", tau) < 1:
        raise InvalidValue(f"tau must be at least 1, got {tau}")
    if negative and tau * abs(cost) > cost_bound:
        raise InvalidValue(
            f"tau must be at most {cost_bound / abs(cost):g}, the cost bound over the cost, got {tau}"
        )
