from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import mpmath
import pytest

from fedward.base.validate import InvalidValue
from fedward.certificates.paper import equation_6, largest_k, lemma_1, theorem_1, theorem_2, theorem_4

# ε of the papers' tables at user level (MNIST, CIFAR-10) and instance level, with their δ.
POINTS = [
    (0.2808, 0.0029),
    (0.6298, 0.0029),
    (1.8504, 0.0029),
    (6.9269, 0.0029),
    (0.1083, 0.0029),
    (0.8781, 0.0029),
    (0.3158, 1e-5),
    (1e-9, 0.0029),
    (1e-9, 0.0),
    (1e-300, 0.0029),
    (50.0, 0.0029),
    (800.0, 0.0029),
    (1e6, 1e-5),
    (0.5, 0.0),
    (800.0, 0.0),
]
CONFIDENCES = [
    (0.8, 0.2),
    (0.95, 0.05),
    (0.5, 0.5),
    (0.4, 0.6),
    (0.51, 0.49),
    (1.0, 0.0),
    (0.3, 0.01),
    (0.9, 0.0),
]


@pytest.fixture(autouse=True)
def _many_digits() -> Iterator[None]:
    with mpmath.workdps(700):
        yield


def exact_k(top: float, runner_up: float, epsilon: float, delta: float) -> mpmath.mpf:
    e, d = mpmath.mpf(epsilon), mpmath.mpf(delta)
    x = mpmath.expm1(e)
    above, below = mpmath.mpf(top) * x + d, mpmath.mpf(runner_up) * x + d
    return mpmath.inf if below == 0 else mpmath.log(above / below) / (2 * e)


@pytest.mark.parametrize(("epsilon", "delta"), POINTS)
@pytest.mark.parametrize(("top", "runner_up"), CONFIDENCES)
def test_theorem_2_agrees_with_arithmetic_of_700_digits(
    top: float, runner_up: float, epsilon: float, delta: float
) -> None:
    wanted = exact_k(top, runner_up, epsilon, delta)
    found = theorem_2(top, runner_up, epsilon, delta)
    assert found == (
        math.inf if wanted == mpmath.inf else pytest.approx(float(wanted), rel=1e-10, abs=1e-300)
    )


@pytest.mark.parametrize(("epsilon", "delta"), POINTS)
@pytest.mark.parametrize(("top", "runner_up"), CONFIDENCES)
def test_theorem_1_agrees_with_arithmetic_of_700_digits_and_with_theorem_2(
    top: float, runner_up: float, epsilon: float, delta: float
) -> None:
    e, d = mpmath.mpf(epsilon), mpmath.mpf(delta)
    wanted = mpmath.mpf(top) > mpmath.exp(2 * e) * mpmath.mpf(runner_up) + (1 + mpmath.exp(e)) * d
    assert theorem_1(top, runner_up, epsilon, delta) == bool(wanted)
    assert theorem_1(top, runner_up, epsilon, delta) == (theorem_2(top, runner_up, epsilon, delta) > 1)


@pytest.mark.parametrize(("epsilon", "delta"), POINTS)
@pytest.mark.parametrize("k", [0, 1, 2, 14, 100])
def test_lemma_1_agrees_with_the_sum_it_comes_from(epsilon: float, delta: float, k: int) -> None:
    group_epsilon, group_delta = lemma_1(epsilon, delta, k)
    assert group_epsilon == k * epsilon
    e = mpmath.mpf(epsilon)
    wanted = mpmath.mpf(delta) * sum((mpmath.exp(i * e) for i in range(k)), mpmath.mpf(0))
    if wanted > 1e308:
        assert group_delta == math.inf
    else:
        assert group_delta == pytest.approx(float(wanted), rel=1e-9)


def test_the_published_example_comes_back() -> None:
    for top, wanted in ((0.8, 2.41), (0.95, 4.97)):
        assert round(theorem_2(top, 1 - top, 0.28075, 0.0029), 2) == wanted


def test_epsilon_zero_is_the_limit() -> None:
    assert theorem_2(0.8, 0.2, 0.0, 0.0029) == pytest.approx(theorem_2(0.8, 0.2, 1e-12, 0.0029), rel=1e-6)
    epsilon, delta = lemma_1(0.0, 0.001, 7)
    assert epsilon == 0.0
    assert delta == pytest.approx(0.007)
    assert theorem_1(0.8, 0.2, 0.0, 0.0) is True
    assert theorem_1(0.5, 0.5, 0.0, 0.0) is False


def test_nothing_bounds_k_without_delta_and_without_a_runner_up() -> None:
    unbounded = largest_k(1.0, 0.0, 0.5, 0.0)
    assert (unbounded.K, unbounded.k, unbounded.compromise) == (math.inf, None, None)
    assert unbounded.to_json() == {"K": None, "unbounded": True, "k": None, "k_compromise": None}
    assert largest_k(0.6, 0.4, 0.0, 0.0).unbounded
    assert not largest_k(0.4, 0.6, 0.0, 0.0).unbounded
    assert largest_k(0.0, 0.4, 0.5, 0.0).k == -1


def test_k_is_the_largest_whole_number_below_k_and_compromise_counts_twice() -> None:
    for top, epsilon, delta in itertools.product((0.55, 0.8, 0.99), (0.01, 0.1, 0.5), (0.0, 1e-4, 0.01)):
        found = largest_k(top, 1 - top, epsilon, delta)
        assert found.k is not None
        assert found.compromise is not None
        assert found.k < found.K <= found.k + 1
        assert 2 * found.compromise < found.K <= 2 * (found.compromise + 1)


def test_a_whole_k_is_not_reached() -> None:
    found = largest_k(0.5, 0.0, 0.0, 0.125)
    assert (found.K, found.k, found.compromise) == (2.0, 1, 0)


def test_a_prediction_that_does_not_hold_has_minus_one() -> None:
    assert largest_k(0.5, 0.5, 0.3, 0.001).k == -1
    assert largest_k(0.3, 0.4, 0.3, 0.001).k == -1
    assert largest_k(0.3, 0.4, 0.3, 0.001).compromise == -1


def test_hoeffdings_correction_is_equation_6() -> None:
    low, high = equation_6(0.8, 0.15, 1000, 0.01)
    width = math.sqrt(math.log(100) / 2000)
    assert low == pytest.approx(0.8 - width)
    assert high == pytest.approx(0.15 + width)
    assert equation_6(0.01, 0.99, 10, 0.01) == (0.0, 1.0)


def test_instance_level_takes_the_worst_user() -> None:
    assert theorem_4([0.1, 0.7, 0.3]) == 0.7
    with pytest.raises(InvalidValue):
        theorem_4([])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.2, 0.1, 0.5, 0.1), "top confidence must be from 0 to 1, got 1.2"),
        ((0.8, math.nan, 0.5, 0.1), "runner-up confidence must be from 0 to 1, got nan"),
        ((0.8, 0.1, -0.5, 0.1), "epsilon must be at least 0 and finite, got -0.5"),
        ((0.8, 0.1, math.inf, 0.1), "epsilon must be at least 0 and finite, got inf"),
        ((0.8, 0.1, 0.5, 1.0), "delta must be at least 0 and below 1, got 1.0"),
    ],
)
def test_impossible_values_are_refused(arguments: tuple[float, ...], message: str) -> None:
    for theorem in (theorem_1, theorem_2, largest_k):
        with pytest.raises(InvalidValue, match=message):
            theorem(*arguments)
