from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from dp_accounting import (
    GaussianDpEvent,
    NonPrivateDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, norm

from fedward.base.validate import InvalidValue
from fedward.privacy import epsilon_of
from fedward.privacy.group import DIRECTIONS, GroupCurve, group_curve
from fedward.privacy.group_round import GroupRound
from fedward.privacy.losses import Losses, compose, hockey_stick

EPSILONS = (-3.0, -1.0, -0.2, 0.0, 0.05, 0.333, 1.0, 2.5)


def sampled(q: float, z: float) -> PoissonSampledDpEvent:
    return PoissonSampledDpEvent(q, GaussianDpEvent(z))


def densities(q: float, z: float, k: int, x: Any) -> tuple[Any, Any]:
    """Base and mixture, straight from their definition."""
    x = np.asarray(x)[..., None]
    j = np.arange(k + 1)
    normal = np.exp(-(((x - j) / z) ** 2) / 2) / (z * math.sqrt(2 * math.pi))
    return normal[..., 0], normal @ binom.pmf(j, k, q)


def integrated(direction: str, q: float, z: float, k: int, epsilon: float) -> float:
    """The hockey-stick divergence by Gauss-Legendre panels on both sides of the one point where it bends."""

    def difference(x: Any) -> Any:
        base, mixture = densities(q, z, k, x)
        p, r = (mixture, base) if direction == "mixture|base" else (base, mixture)
        return p - math.exp(epsilon) * r

    low, high = -10.0 * z, k + 10.0 * z
    bend = brentq(difference, low, high, xtol=1e-14) if difference(low) * difference(high) < 0 else low
    nodes, weights = np.polynomial.legendre.leggauss(40)
    ends = np.concatenate([np.linspace(low, bend, 30), np.linspace(bend, high, 30)])
    half = np.diff(ends)[:, None] / 2
    return float((np.maximum(0.0, difference(ends[:-1, None] + half * (1 + nodes))) * weights * half).sum())


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("k", "z"), [(1, 2.0), (3, 2.0), (1, 0.3), (5, 40.0)])
def test_one_unsampled_round_is_the_gaussian_curve(direction: Any, k: int, z: float) -> None:
    curve, shift = group_curve([(GaussianDpEvent(z), 1)], k), k / z
    for epsilon in EPSILONS:
        exact = norm.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * norm.cdf(
            -shift / 2 - epsilon / shift
        )
        assert exact <= curve.delta(direction, epsilon) <= exact + 3e-5


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("q", "z", "k"), [(0.2, 0.8, 3), (0.5, 2.0, 6), (0.01, 0.5, 1), (0.9, 1.5, 2)])
def test_one_sampled_round_agrees_with_numerical_integration(
    direction: Any, q: float, z: float, k: int
) -> None:
    curve = group_curve([(sampled(q, z), 1)], k)
    for epsilon in EPSILONS:
        exact = integrated(direction, q, z, k, epsilon)
        assert exact - 1e-11 <= curve.delta(direction, epsilon) <= exact + 3e-5


def test_the_directions_are_those_of_dp_accounting_remove_and_add() -> None:
    q, z, k = 0.2, 0.8, 3
    weights = binom.pmf(np.arange(k + 1), k, q)
    theirs = privacy_loss_distribution.from_mixture_gaussian_mechanism(
        z, range(k + 1), weights, value_discretization_interval=1e-2
    )
    # Private names, but the version is pinned: the public method takes the larger of the two.
    remove, add = theirs._pmf_remove, theirs._pmf_add
    for epsilon in (0.1, 0.5):
        mixture = integrated("mixture|base", q, z, k, epsilon)
        base = integrated("base|mixture", q, z, k, epsilon)
        assert mixture > base + 0.01
        assert remove.get_delta_for_epsilon(epsilon) == pytest.approx(mixture, abs=1e-4)
        assert add.get_delta_for_epsilon(epsilon) == pytest.approx(base, abs=1e-4)
        assert theirs.get_delta_for_epsilon(epsilon) == pytest.approx(mixture, abs=1e-4)


def test_many_rounds_agree_with_dp_accounting() -> None:
    q, z, k, rounds = 0.05, 4.0, 4, 60
    theirs = privacy_loss_distribution.from_mixture_gaussian_mechanism(
        z, range(k + 1), binom.pmf(np.arange(k + 1), k, q), value_discretization_interval=1e-3
    ).self_compose(rounds)
    curve = group_curve([(sampled(q, z), rounds)], k)
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        for direction, pmf in zip(DIRECTIONS, (theirs._pmf_remove, theirs._pmf_add), strict=True):
            found = curve.delta(direction, epsilon)  # type: ignore[arg-type]
            assert found == pytest.approx(pmf.get_delta_for_epsilon(epsilon), abs=1e-4)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_rounds_that_differ_are_composed_each_with_its_own(direction: Any) -> None:
    k, first, second = 3, (0.3, 1.5), (0.6, 4.0)
    x = np.linspace(-25.0, 32.0, 3001)
    cell = (x[1] - x[0]) ** 2
    (base_1, mixture_1), (base_2, mixture_2) = (densities(q, z, k, x) for q, z in (first, second))
    base, mixture = np.outer(base_1, base_2), np.outer(mixture_1, mixture_2)
    p, r = (mixture, base) if direction == "mixture|base" else (base, mixture)
    curve = group_curve([(sampled(*first), 1), (sampled(*second), 1)], k)
    for epsilon in (-0.5, 0.0, 0.7):
        exact = np.maximum(0.0, p - math.exp(epsilon) * r).sum() * cell
        assert exact - 1e-6 <= curve.delta(direction, epsilon) <= exact + 1e-4


def test_plain_rounds_are_one_round_with_less_noise() -> None:
    many = group_curve([(GaussianDpEvent(6.0), 4), (sampled(1.0, 3.0), 1)], 2)
    one = group_curve([(GaussianDpEvent(3.0 / math.sqrt(2.0)), 1)], 2)
    assert many.delta("mixture|base", 0.4) == pytest.approx(one.delta("mixture|base", 0.4), abs=1e-12)


def test_one_user_is_what_the_pld_accountant_accounts_for() -> None:
    spending, delta = [(sampled(0.1, 1.5), 40)], 1e-3
    epsilon = epsilon_of(spending, delta, "pld", "add/remove")
    curve = group_curve(spending, 1)
    worse = max(curve.delta("mixture|base", epsilon), curve.delta("base|mixture", epsilon))
    assert worse == pytest.approx(delta, rel=0.01)


@given(
    q=st.floats(0.01, 1.0),
    z=st.floats(0.4, 10.0),
    k=st.integers(1, 12),
    rounds=st.integers(1, 5),
    interval=st.floats(0.02, 1.0),
)
@settings(max_examples=25, deadline=None)
def test_a_coarse_grid_is_never_below_a_fine_one(
    q: float, z: float, k: int, rounds: int, interval: float
) -> None:
    event = GaussianDpEvent(z) if q == 1 else sampled(q, z)
    coarse = group_curve([(event, rounds)], k, interval=interval)
    fine = group_curve([(event, rounds)], k, interval=interval / 10)
    for direction in DIRECTIONS:
        for epsilon in EPSILONS:
            found = [curve.delta(direction, epsilon) for curve in (coarse, fine)]  # type: ignore[arg-type]
            assert found[0] >= found[1] - 1e-12


def test_a_grid_far_too_coarse_still_bounds_the_exact_curve() -> None:
    curve = group_curve([(sampled(0.2, 0.8), 1)], 3, interval=2.0)
    for direction in DIRECTIONS:
        for epsilon in EPSILONS:
            exact = integrated(direction, 0.2, 0.8, 3, epsilon)
            assert curve.delta(direction, epsilon) >= exact - 1e-11  # type: ignore[arg-type]


def test_a_large_group_keeps_what_it_leaves_out() -> None:
    k, q, z = 400, 0.1, 60.0
    one = GroupRound(rate=q, noise_multiplier=z, k=k, tail=1e-6)
    assert len(one.shifts) < k / 3
    mixture, base = one.losses(0.01)
    assert one.left_out > 0
    assert mixture.mass.sum() + mixture.infinite == pytest.approx(1.0, abs=1e-12)
    assert base.mass.sum() + base.infinite == pytest.approx(1.0, abs=1e-12)
    exact = integrated("mixture|base", q, z, k, 0.0)
    assert exact <= hockey_stick(mixture, 0.01)[0] <= exact + 2e-6
    assert exact <= hockey_stick(base, 0.01)[0] <= exact + 2e-6


def test_a_larger_group_and_more_rounds_show_more() -> None:
    spending = [(sampled(0.1, 3.0), 3)]
    by_size = [group_curve(spending, k).delta("base|mixture", 0.1) for k in (0, 1, 2, 5, 20)]
    assert by_size[0] == 0
    assert by_size == sorted(set(by_size))
    by_rounds = [group_curve([(sampled(0.1, 3.0), t)], 5).delta("base|mixture", 0.1) for t in (1, 3, 30)]
    assert by_rounds == sorted(set(by_rounds))


def test_nobody_or_no_round_shows_nothing() -> None:
    for curve in (group_curve([(GaussianDpEvent(1.0), 5)], 0), group_curve([], 7)):
        for direction in DIRECTIONS:
            assert curve.delta(direction, 0.0) == 0  # type: ignore[arg-type]
            assert curve.delta(direction, 2.0) == 0  # type: ignore[arg-type]
            assert curve.delta(direction, -1.0) == pytest.approx(1 - math.exp(-1))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "rounds", "k"),
    [
        (GaussianDpEvent(1e-6), 1, 1),
        (GaussianDpEvent(1e40), 1, 1),
        (sampled(1e-9, 0.1), 10, 5),
        (sampled(1e-3, 1e-45), 1, 1),
        (sampled(1e-20, 1.0), 5, 1),
        (sampled(0.999, 2.0), 5, 3),
        (sampled(0.01, 1.0), 10**6, 1),
    ],
)
def test_extreme_rounds_give_a_curve_within_bounds(event: Any, rounds: int, k: int) -> None:
    curve = group_curve([(event, rounds)], k)
    for direction in DIRECTIONS:
        values = curve.on_grid(direction)  # type: ignore[arg-type]
        assert np.all((values >= 0) & (values <= 1))
        assert np.all(np.diff(values) <= 0)


def test_losses_beyond_the_window_count_as_infinite() -> None:
    rare = Losses(0, np.array([1 - 1e-9] + [0.0] * 98 + [1e-9]), 0.0)
    total = compose([(rare, 50)], 1e-6)
    assert total.infinite >= 1e-6
    assert total.mass.sum() + total.infinite >= 1.0 - 1e-12


def test_infinite_losses_add_up() -> None:
    part = Losses(-1, np.array([0.45, 0.45]), 0.1)
    assert compose([(part, 2)], 1e-13).infinite == pytest.approx(1 - 0.9**2, abs=1e-9)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(3.0)), "fixed-size"),
        (NonPrivateDpEvent(), "without noise"),
    ],
)
def test_rounds_without_a_proof_are_refused(event: Any, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason):
        group_curve([(event, 3)], 2)


@pytest.mark.parametrize(
    ("k", "interval", "message"),
    [
        (-1, 0.01, "group size must be at least 0, got -1"),
        (1.5, 0.01, "group size must be a whole number"),
        (1, 0.0, "interval must be positive and finite, got 0.0"),
        (1, math.nan, "interval must be positive and finite, got nan"),
    ],
)
def test_impossible_arguments_are_refused(k: Any, interval: float, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        group_curve([(GaussianDpEvent(1.0), 1)], k, interval=interval)


def test_a_curve_checks_itself() -> None:
    with pytest.raises(InvalidValue, match="from 0 to 1"):
        GroupCurve(k=1, step=0.1, mixture_over_base=np.array([1.2]), base_over_mixture=np.zeros(1))
    with pytest.raises(InvalidValue, match="direction must be one of"):
        group_curve([], 1).delta("base", 0.0)  # type: ignore[arg-type]
