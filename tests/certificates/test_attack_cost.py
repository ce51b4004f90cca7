from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from scipy.stats import norm

from fedward.base.validate import InvalidValue
from fedward.certificates.attack_cost import attackers_needed, corollary_1, cost_bounds, theorem_3
from fedward.privacy import epsilon_of
from fedward.privacy.group import THREATS, group_curve

ROUNDS = [(PoissonSampledDpEvent(0.1, GaussianDpEvent(2.5)), 3)]
# ε and δ of the papers' cost experiments, and limits.
POINTS = [
    (0.3672, 0.0029),
    (0.4344, 0.0029),
    (1.2716, 0.0029),
    (0.5346, 1e-5),
    (1e-9, 0.0029),
    (0.0, 0.0029),
    (0.5, 0.0),
    (60.0, 0.0029),
    (900.0, 1e-5),
]


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    with mpmath.workdps(500):
        yield


def published(
    cost: float, bound: float, epsilon: float, delta: float, k: int, negative: bool
) -> tuple[float, float]:
    """Equation 3, its two cases written out."""
    j, c, e, d = (mpmath.mpf(value) for value in (cost, bound, epsilon, delta))
    grown = mpmath.mpf(k) if epsilon == 0 else mpmath.expm1(k * e) / mpmath.expm1(e)
    shrunk = mpmath.mpf(k) if epsilon == 0 else -mpmath.expm1(-k * e) / mpmath.expm1(e)
    if negative:
        high = min(mpmath.exp(-k * e) * j + shrunk * d * c, mpmath.mpf(0))
        low = max(mpmath.exp(k * e) * j - grown * d * c, -c)
    else:
        high = min(mpmath.exp(k * e) * j + grown * d * c, c)
        low = max(mpmath.exp(-k * e) * j - shrunk * d * c, mpmath.mpf(0))
    return float(low), float(high)


@pytest.mark.parametrize(("epsilon", "delta"), POINTS)
@pytest.mark.parametrize("negative", [False, True])
def test_theorem_3_agrees_with_its_two_cases(epsilon: float, delta: float, negative: bool) -> None:
    for size in (0.0, 0.01, 0.3, 0.5):
        for k in (0, 1, 2, 10):
            cost = -size if negative else size
            found = theorem_3(cost, 0.5, epsilon, delta, k, negative=negative)
            wanted = published(cost, 0.5, epsilon, delta, k, negative)
            assert found == pytest.approx(wanted, rel=1e-10, abs=1e-300)


@pytest.mark.parametrize(("epsilon", "delta"), POINTS)
@pytest.mark.parametrize("tau", [1.0, 1.5, 4.0, 100.0])
@pytest.mark.parametrize("negative", [False, True])
def test_corollary_1_agrees_with_equation_4(epsilon: float, delta: float, tau: float, negative: bool) -> None:
    cost, bound = (-0.004, 0.5) if negative else (0.3, 0.5)
    found = corollary_1(cost, bound, tau, epsilon, delta, negative=negative)
    if epsilon == 0:
        assert found == pytest.approx(
            corollary_1(cost, bound, tau, 1e-12, delta, negative=negative), rel=1e-6
        )
        return
    j, c, e, d, t = (mpmath.mpf(value) for value in (cost, bound, epsilon, delta, tau))
    x = mpmath.expm1(e)
    if negative:
        wanted = mpmath.log((x * j * t - c * d) / (x * j - c * d)) / e
    else:
        wanted = mpmath.log((x * j * t + c * d * t) / (x * j + c * d * t)) / e
    assert found == pytest.approx(float(wanted), rel=1e-9, abs=1e-300)


def test_corollary_1_is_where_theorem_3_reaches_the_goal() -> None:
    for tau in (1.2, 2.0, 5.0):
        k = math.ceil(corollary_1(0.3, 0.5, tau, 0.2, 1e-4))
        assert theorem_3(0.3, 0.5, 0.2, 1e-4, k)[0] <= 0.3 / tau
        assert theorem_3(0.3, 0.5, 0.2, 1e-4, k - 1)[0] > 0.3 / tau


def test_nothing_bounds_the_attackers_without_privacy_loss() -> None:
    assert corollary_1(0.3, 0.5, 2.0, 0.0, 0.0) == math.inf
    assert corollary_1(0.3, 0.5, 1.0, 0.0, 0.0) == 0.0
    assert corollary_1(0.0, 0.5, 2.0, 0.3, 0.001) == 0.0


def test_one_round_without_sampling_shifts_the_quantile_of_the_cost() -> None:
    curve = group_curve([(GaussianDpEvent(4.0), 1)], 2)
    for share in (0.1, 0.5, 0.9):
        low, high = cost_bounds(3.0 * share, 3.0, curve, "inject")
        assert low == pytest.approx(3.0 * norm.cdf(norm.ppf(share) - 0.5), abs=1e-3)
        assert high == pytest.approx(3.0 * norm.cdf(norm.ppf(share) + 0.5), abs=1e-3)
        assert low <= 3.0 * norm.cdf(norm.ppf(share) - 0.5)
        assert high >= 3.0 * norm.cdf(norm.ppf(share) + 0.5)
        assert cost_bounds(-3.0 * share, 3.0, curve, "inject", negative=True) == (-high, -low)


@pytest.mark.parametrize("threat", THREATS)
@pytest.mark.parametrize("accountant", ["moments", "pld"])
def test_tight_costs_are_never_weaker_than_the_papers(threat: Any, accountant: str) -> None:
    epsilon = epsilon_of(ROUNDS, 0.0029, accountant, "add/remove")
    group = 2 if threat == "compromise" else 1
    for k in (0, 1, 3, 6):
        curve = group_curve(ROUNDS, k)
        for cost in (0.02, 0.3, 0.5):
            low, high = cost_bounds(cost, 0.5, curve, threat)
            paper_low, paper_high = theorem_3(cost, 0.5, epsilon, 0.0029, k * group)
            assert low >= paper_low - 1e-9
            assert high <= paper_high + 1e-9


def test_attackers_needed_is_the_first_number_that_reaches_the_goal() -> None:
    for threat in ("inject", "compromise"):
        needed = attackers_needed(0.3, 0.5, 2.0, ROUNDS, threat)
        assert needed is not None
        reached, before = (
            cost_bounds(0.3, 0.5, group_curve(ROUNDS, k, interval=2e-3), threat)[0]
            for k in (needed, needed - 1)
        )
        assert reached <= 0.15 < before
    # By the same accountant (the tightest) the corollary asks for no more.
    epsilon = epsilon_of(ROUNDS, 0.0029, "pld", "add/remove")
    paper = math.ceil(corollary_1(0.3, 0.5, 2.0, epsilon, 0.0029))
    assert attackers_needed(0.3, 0.5, 2.0, ROUNDS, "inject") >= paper  # type: ignore[operator]


def test_costs_below_zero_are_multiplied() -> None:
    needed = attackers_needed(-0.1, 0.5, 2.0, ROUNDS, "inject", negative=True)
    assert needed is not None
    low = [
        cost_bounds(-0.1, 0.5, group_curve(ROUNDS, k, interval=2e-3), "inject", negative=True)[0]
        for k in (needed - 1, needed)
    ]
    assert low[0] > -0.2 >= low[1]


def test_an_attack_out_of_reach_needs_more_than_the_most() -> None:
    quiet = [(PoissonSampledDpEvent(0.01, GaussianDpEvent(50.0)), 1)]
    assert attackers_needed(0.3, 0.5, 2.0, quiet, "inject", most=8) is None
    assert attackers_needed(0.3, 0.5, 1.0, quiet, "inject", most=8) == 0


@pytest.mark.parametrize(
    ("cost", "bound", "tau", "negative", "message"),
    [
        (0.6, 0.5, 2.0, False, "cost must be from 0 to 0.5, got 0.6"),
        (-0.1, 0.5, 2.0, False, "cost must be from 0 to 0.5, got -0.1"),
        (0.1, 0.5, 2.0, True, "cost must be from -0.5 to 0, got 0.1"),
        (np.nan, 0.5, 2.0, False, "cost must be finite, got nan"),
        (0.1, 0.0, 2.0, False, "cost bound must be positive and finite, got 0.0"),
        (0.1, 0.5, 0.9, False, "tau must be at least 1, got 0.9"),
        (-0.3, 0.5, 2.0, True, "tau must be at most 1.66667"),
    ],
)
def test_impossible_costs_are_refused(
    cost: float, bound: float, tau: float, negative: bool, message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        corollary_1(cost, bound, tau, 0.3, 0.001, negative=negative)
    with pytest.raises(InvalidValue, match=message):
        attackers_needed(cost, bound, tau, ROUNDS, "inject", negative=negative)
