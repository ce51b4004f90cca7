from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from fedward.auditing.error_rates import ErrorRates
from fedward.auditing.weighed_errors import WeighedErrors, best_weight
from fedward.base.validate import InvalidValue

TRAININGS, ERROR = 60, 0.1


def errors(fp: int, fn: int, weight: float = 1.0, each: int = TRAININGS) -> WeighedErrors:
    """So many errors of each kind."""
    rates = ErrorRates(false_positives=fp, without=each, false_negatives=fn, having=each)
    return WeighedErrors(rates=rates, weight=weight)


def gaussian(apart: float) -> Callable[[float], float]:
    """The trade-off curve of two normal laws of variance 1."""
    return lambda fpr: float(norm.cdf(norm.isf(fpr) - apart))


@settings(max_examples=30, deadline=None)
@given(fpr=st.floats(0.01, 0.9), fnr=st.floats(0.01, 0.9), weight=st.floats(0.1, 10.0), fp=st.integers(0, 60))
def test_the_chance_of_so_few_errors_is_that_of_all_pairs_that_weigh_no_more(
    fpr: float, fnr: float, weight: float, fp: int
) -> None:
    few = errors(fp, 20, weight)
    each = np.arange(TRAININGS + 1)
    weighs = weight * each[:, None] + each
    chances = np.multiply.outer(binom.pmf(each, TRAININGS, fpr), binom.pmf(each, TRAININGS, fnr))
    wanted = chances[weighs <= weight * fp + 20 + 1e-9].sum()
    assert min(1.0, wanted) - 1e-12 <= few.chance(fpr, fnr) <= wanted + 1e-8


@pytest.mark.parametrize("weight", [0.5, 3.0])
def test_rates_on_the_curve_are_refuted_no_more_often_than_the_error_allows(weight: float) -> None:
    curve, each = gaussian(1.0), np.arange(11)
    refuted = np.array(
        [[errors(fp, fn, weight, 10).refutes(curve, ERROR) for fn in range(11)] for fp in range(11)]
    )
    assert refuted.any()
    for fpr in (0.02, 0.1, 0.2, 0.4, 0.6):
        chances = np.multiply.outer(binom.pmf(each, 10, fpr), binom.pmf(each, 10, curve(fpr)))
        assert float(chances[refuted].sum()) <= ERROR


def test_one_sum_refutes_what_two_bounds_leave_open() -> None:
    few = errors(650, 650, each=2000)
    apart = 0.83  # the sum of both rates is at least 0.678 here, and 0.65 was seen
    curve = gaussian(apart)
    fpr, fnr = few.rates.upper(0.05)
    assert fnr > curve(fpr)
    assert few.refutes(curve, 0.05)


def test_more_errors_refute_less() -> None:
    curve = gaussian(1.0)
    found = [errors(fp, 15).refutes(curve, 0.05) for fp in range(0, 30, 3)]
    assert found == sorted(found, reverse=True)
    assert found[0]
    assert not found[-1]


def test_the_weight_is_the_slope_of_the_curve() -> None:
    most = lambda fpr: float(norm.sf(norm.isf(fpr) - 1.0))  # noqa: E731
    assert best_weight(most, 0.1) == pytest.approx(np.exp(norm.isf(0.1) - 0.5), rel=0.02)
    assert best_weight(lambda fpr: 1.0, 0.5) == 0.02


def test_a_false_positive_must_weigh_something() -> None:
    with pytest.raises(InvalidValue, match="weight of a false positive must be positive"):
        errors(1, 1, 0.0)
