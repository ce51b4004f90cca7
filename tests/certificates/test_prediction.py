from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, norm

from fedward.base.validate import InvalidValue
from fedward.certificates.paper import largest_k
from fedward.certificates.prediction import certified_k, margin, transport
from fedward.privacy import epsilon_of
from fedward.privacy.group import THREATS, GroupCurve, group_curve

MEANS = np.array([0.0, 0.01, 0.2, 0.5, 0.77, 0.9, 0.999, 1.0])


def rounds(q: float, z: float, times: int) -> list[tuple[Any, int]]:
    return [(PoissonSampledDpEvent(q, GaussianDpEvent(z)), times)]


def check(found: Any, exact: Any) -> None:
    """To three decimals, and never above."""
    assert np.all(found <= exact + 1e-12)
    assert np.all(found >= exact - 5e-4)


@pytest.mark.parametrize(("k", "z"), [(1, 1.0), (3, 4.0), (2, 0.5), (10, 100.0)])
def test_one_round_without_sampling_shifts_the_quantile(k: int, z: float) -> None:
    curve = group_curve([(GaussianDpEvent(z), 1)], k)
    for threat, shift in (("inject", k / z), ("present", k / z), ("compromise", 2 * k / z)):
        # Beyond 0.999 two steps of a long shift come down to the rounding that every δ is raised by.
        means = MEANS[1:-1] if threat == "compromise" else MEANS
        exact = norm.cdf(norm.ppf(means) - shift)
        check(transport(means, curve, threat, "lower"), exact)  # type: ignore[arg-type]
        upper = norm.cdf(norm.ppf(means) + shift)
        check(1 - transport(means, curve, threat, "upper"), 1 - upper)  # type: ignore[arg-type]


@pytest.mark.parametrize(("k", "q", "z"), [(1, 0.1, 1.0), (14, 0.1, 3.0), (3, 0.5, 0.7), (30, 0.02, 2.0)])
def test_one_sampled_round_under_injection_mixes_the_shifts(k: int, q: float, z: float) -> None:
    curve = group_curve(rounds(q, z, 1), k)
    j = np.arange(k + 1)
    weights = binom.pmf(j, k, q)
    exact = norm.cdf(norm.ppf(MEANS)[:, None] - j / z) @ weights
    check(transport(MEANS, curve, "inject", "lower"), exact)
    upper = norm.cdf(norm.ppf(MEANS)[:, None] + j / z) @ weights
    check(1 - transport(MEANS, curve, "inject", "upper"), 1 - upper)


@pytest.mark.parametrize(("k", "q", "z"), [(1, 0.1, 1.0), (14, 0.1, 3.0), (3, 0.5, 0.7)])
def test_one_sampled_round_with_attackers_present_is_the_other_way_round(k: int, q: float, z: float) -> None:
    curve = group_curve(rounds(q, z, 1), k)
    j = np.arange(k + 1)
    weights = binom.pmf(j, k, q)
    for mean in (0.05, 0.5, 0.9):
        # The score that tells most: 1 above the point where the mixture has this mean.
        point = brentq(lambda t, mean=mean: float(norm.sf(t - j / z) @ weights) - mean, -40.0, 40.0 + k / z)
        check(transport(mean, curve, "present", "lower"), norm.sf(point))


def test_compromise_is_present_then_inject() -> None:
    curve = group_curve(rounds(0.2, 2.0, 4), 3)
    for side in ("lower", "upper"):
        once = transport(MEANS, curve, "present", side)
        both = transport(once, curve, "inject", side)
        assert np.array_equal(both, transport(MEANS, curve, "compromise", side))


@pytest.mark.parametrize("threat", ["inject", "present"])
def test_the_best_epsilon_of_the_whole_line_is_found(threat: Any) -> None:
    curve = group_curve(rounds(0.1, 3.0, 3), 9)
    here, there = ("base", "mixture") if threat == "inject" else ("mixture", "base")
    epsilons = np.linspace(-6.0, 6.0, 2401)
    away = np.array([curve.delta(f"{here}|{there}", e) for e in epsilons])  # type: ignore[arg-type]
    towards = np.array([curve.delta(f"{there}|{here}", e) for e in epsilons])  # type: ignore[arg-type]
    lower = transport(MEANS, curve, threat, "lower")
    upper = transport(MEANS, curve, threat, "upper")
    for mean, least, most in zip(MEANS, lower, upper, strict=True):
        by_hand = max(0.0, float(np.max(np.exp(-epsilons) * (mean - away))))
        assert by_hand - 1e-9 <= least <= by_hand + 1e-4
        by_hand = min(1.0, float(np.min(np.exp(epsilons) * mean + towards)))
        assert by_hand - 1e-4 <= most <= by_hand + 1e-9


def test_a_mean_that_was_rounded_to_one_is_not_taken_for_certain() -> None:
    curve = group_curve([(GaussianDpEvent(1.0), 1)], 10)
    # Φ(Φ^-1(1 - 1e-16) - 10): what a mean so close to 1 that no float tells them apart can fall to.
    assert transport(1.0, curve, "inject", "lower") < norm.cdf(-norm.ppf(1e-16) - 10)


def test_without_attackers_nothing_moves() -> None:
    curve = group_curve(rounds(0.1, 3.0, 3), 0)
    for threat in THREATS:
        for side in ("lower", "upper"):
            found = transport(MEANS, curve, threat, side)  # type: ignore[arg-type]
            assert found == pytest.approx(MEANS, abs=1e-15)


@given(
    mean=st.floats(0.0, 1.0),
    q=st.floats(0.01, 0.9),
    z=st.floats(0.5, 20.0),
    times=st.integers(1, 20),
    k=st.integers(1, 20),
    threat=st.sampled_from(THREATS),
)
@settings(max_examples=40, deadline=None)
def test_bounds_lie_around_the_mean_and_within_the_unit(
    mean: float, q: float, z: float, times: int, k: int, threat: Any
) -> None:
    curve = group_curve(rounds(q, z, times), k)
    low, high = (float(transport(mean, curve, threat, side)) for side in ("lower", "upper"))
    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1
    assert float(transport(1 - mean, curve, threat, "upper")) == pytest.approx(1 - low, abs=1e-9)


@pytest.mark.parametrize(("top", "inject", "compromise"), [(0.8, 14, 7), (0.95, 28, 15)])
def test_the_setting_of_the_paper(top: float, inject: int, compromise: int) -> None:
    spent = rounds(0.1, 3.0, 3)
    assert int(certified_k(top, 1 - top, spent, "inject")) == inject
    assert int(certified_k(top, 1 - top, spent, "compromise")) == compromise


def test_the_example_that_the_docs_work_out_by_hand() -> None:
    plain, half = [(GaussianDpEvent(4.0), 1)], rounds(0.5, 4.0, 1)
    by_hand = {1: 0.849, 2: 0.783, 3: 0.702, 4: 0.611, 5: 0.513, 6: 0.414}
    for k, confidence in by_hand.items():
        assert transport(0.9, group_curve(plain, k), "inject", "lower") == pytest.approx(confidence, abs=6e-4)
    assert certified_k(0.9, 0.1, plain, "inject") == 5
    assert certified_k(0.9, 0.1, plain, "compromise") == 2
    for k, confidence in ((2, 0.845), (10, 0.512), (11, 0.466)):
        assert transport(0.9, group_curve(half, k), "inject", "lower") == pytest.approx(confidence, abs=6e-4)
    assert certified_k(0.9, 0.1, half, "inject") == 10


@pytest.mark.parametrize("accountant", ["moments", "pld"])
@pytest.mark.parametrize(
    ("q", "z", "times", "delta"),
    [
        (0.1, 3.0, 3, 0.0029),
        (0.1, 1.0, 3, 0.0029),
        (0.2, 10.0, 1, 0.0029),
        (0.05, 8.0, 100, 1e-5),
        (1.0, 6.0, 2, 0.01),
        (1.0, 6.0, 1, 0.2),
    ],
)
def test_tight_is_never_weaker_than_paper_mode(
    q: float, z: float, times: int, delta: float, accountant: str
) -> None:
    spent = rounds(q, z, times)
    epsilon = epsilon_of(spent, delta, accountant, "add/remove")
    top = np.array([0.51, 0.6, 0.8, 0.95, 0.999, 0.4, 0.3])
    second = np.array([0.49, 0.4, 0.1, 0.05, 0.001, 0.3, 0.1])
    papers = [largest_k(a, b, epsilon, delta) for a, b in zip(top, second, strict=True)]
    for threat in THREATS:
        wanted = [(paper.compromise if threat == "compromise" else paper.k) or 0 for paper in papers]
        # No further than needed: how far beyond it goes is not asked here.
        found = certified_k(top, second, spent, threat, most=max(wanted))  # type: ignore[arg-type]
        assert np.all(found >= wanted)


def test_many_examples_get_what_each_gets_alone() -> None:
    spent = rounds(0.1, 3.0, 3)
    top = np.random.default_rng(0).uniform(0.3, 1.0, 8)
    second = np.minimum(1 - top, 0.3)
    together = certified_k(top, second, spent, "inject")
    assert together.tolist() == [
        int(certified_k(a, b, spent, "inject")) for a, b in zip(top, second, strict=True)
    ]


def test_k_holds_and_one_more_does_not() -> None:
    spent = rounds(0.1, 3.0, 3)
    top = np.array([0.55, 0.7, 0.9])
    found = certified_k(top, 1 - top, spent, "inject")
    for example, k in zip(top, found, strict=True):
        holds, fails = (
            float(margin(example, 1 - example, group_curve(spent, n, interval=2e-3), "inject"))
            for n in (int(k), int(k) + 1)
        )
        assert holds > 0 >= fails


def test_a_near_miss_is_decided_on_a_finer_grid() -> None:
    spent, k, interval = rounds(0.5, 4.0, 5), 4, 0.3
    coarse = group_curve(spent, k, interval=interval)

    def needed(curve: GroupCurve) -> float:
        return float(brentq(lambda top: float(margin(top, 1 - top, curve, "inject")), 0.5, 1 - 1e-9))

    top = 0.3 * needed(coarse) + 0.7 * needed(group_curve(spent, k))
    assert -0.01 < margin(top, 1 - top, coarse, "inject") < -1e-5
    assert certified_k(top, 1 - top, spent, "inject", most=k, interval=interval) == k


def test_one_half_is_enough_whatever_the_others_say() -> None:
    spent = rounds(0.1, 3.0, 3)
    assert certified_k(0.9, 0.9, spent, "inject") == certified_k(0.9, 0.1, spent, "inject") > 0


def test_a_small_runner_up_helps_below_one_half() -> None:
    spent = rounds(0.1, 3.0, 3)
    k = certified_k([0.4, 0.4], [0.05, 0.39], spent, "inject")
    assert k[0] > k[1] >= 0


def test_no_margin_is_minus_one_and_the_clean_prediction_zero() -> None:
    spent = [(GaussianDpEvent(0.1), 1)]
    assert certified_k([0.5, 0.3, 0.6], [0.5, 0.4, 0.4], spent, "inject").tolist() == [-1, -1, 0]


def test_the_last_k_to_try_is_kept() -> None:
    assert certified_k(0.99, 0.01, rounds(0.1, 50.0, 1), "inject", most=20) == 20
    assert certified_k(0.99, 0.01, rounds(0.1, 50.0, 1), "inject", most=0) == 0


def test_rounds_that_differ_count_each_for_itself() -> None:
    quiet, loud = (
        PoissonSampledDpEvent(0.1, GaussianDpEvent(2.0)),
        PoissonSampledDpEvent(0.1, GaussianDpEvent(6.0)),
    )
    both = int(certified_k(0.9, 0.1, [(quiet, 2), (loud, 2)], "inject"))
    assert int(certified_k(0.9, 0.1, [(quiet, 4)], "inject")) < both
    assert both < int(certified_k(0.9, 0.1, [(loud, 4)], "inject"))


@pytest.mark.parametrize(
    ("top", "second", "message"),
    [
        ([0.8, np.nan], [0.1, 0.1], "top confidence must be from 0 to 1, got nan"),
        ([0.8], [-0.1], "runner-up confidence must be from 0 to 1, got -0.1"),
        ([0.8, 0.7], [0.1], "one each for every example"),
        (["a"], [0.1], "top confidence must be numbers"),
    ],
)
def test_bad_confidences_are_refused(top: Any, second: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        certified_k(top, second, rounds(0.1, 3.0, 3), "inject")


def test_unknown_threats_and_sides_are_refused() -> None:
    with pytest.raises(InvalidValue, match="did you mean 'inject'"):
        certified_k(0.8, 0.1, rounds(0.1, 3.0, 3), "injekt")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="side must be one of lower, upper"):
        transport(0.8, group_curve([], 1), "inject", "both")  # type: ignore[arg-type]


def test_a_prediction_that_is_level_under_attack_is_not_certified() -> None:
    """Bounds that meet exactly: the top class need not be the top class then."""
    second = np.array([0.3, 0.15, 0.05])
    # An upper bound of what no attacker changes is 1 - (1 - x), which may be rounded up: to these.
    best = 1.0 - (1.0 - second)
    level = best > second
    assert level.any()
    assert margin(best, second, group_curve([], 1), "inject")[level].tolist() == [0.0] * int(level.sum())
    assert certified_k(best[level], second[level], [], "inject", most=3).tolist() == [0] * int(level.sum())


def test_a_prediction_that_is_level_without_attackers_is_none() -> None:
    assert certified_k([0.5, 0.25], [0.5, 0.25], [], "inject", most=3).tolist() == [-1, -1]


def plain_search(top: float, second: float, spending: Any, threat: Any, most: int) -> int:
    """One k after the other."""
    k = 0
    while k < most:
        curve = group_curve(spending, k + 1)
        found = margin([top], [second], curve, threat)
        if -0.01 < found[0] <= 0:
            found = margin([top], [second], group_curve(spending, k + 1, interval=2e-3), threat)
        if found[0] <= 0:
            return k
        k += 1
    return k


@pytest.mark.parametrize("threat", THREATS)
@pytest.mark.parametrize("spending", [[(GaussianDpEvent(30.0), 1)], rounds(0.2, 12.0, 2)])
def test_the_search_finds_what_one_k_after_the_other_finds(threat: Any, spending: Any) -> None:
    top, second = [0.8, 0.55, 0.9, 0.45], [0.15, 0.3, 0.1, 0.1]
    found = certified_k(top, second, spending, threat)
    wanted = [plain_search(a, b, spending, threat, 100) for a, b in zip(top, second, strict=True)]
    assert found.tolist() == wanted


@pytest.mark.parametrize(("threat", "each"), [("inject", 1), ("present", 1), ("compromise", 2)])
def test_k_is_right_for_a_hundred_thousand_users(threat: Any, each: int) -> None:
    sigma, top = 25_000.0, np.array([0.6, 0.9, 0.99, 0.999])
    # The prediction holds as long as the shifted quantile of the top class is above 1/2.
    exact = np.ceil(sigma * norm.ppf(top) / each).astype(int) - 1
    spending = [(GaussianDpEvent(sigma), 1)]
    found = certified_k(top, 1 - top, spending, threat)
    assert (found <= exact).all()
    assert (found >= 0.998 * exact).all(), (found, exact)
    for k, p in zip(found.tolist(), top.tolist(), strict=True):
        assert margin([p], [1 - p], group_curve(spending, k, interval=2e-3), threat)[0] > 0
        assert margin([p], [1 - p], group_curve(spending, k + 1, interval=2e-3), threat)[0] <= 0


def test_more_than_the_largest_group_is_not_claimed() -> None:
    found = certified_k([0.99999], [0.0], [(GaussianDpEvent(1e6), 1)], "inject")
    assert found.tolist() == [100_000]
