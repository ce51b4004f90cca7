from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from fedward.auditing.error_rates import ErrorRates
from fedward.base.validate import InvalidValue


@pytest.mark.parametrize(("wrong", "of"), [(0, 50), (3, 50), (50, 50), (700, 1000)])
def test_a_bound_is_the_largest_rate_that_is_not_refuted(wrong: int, of: int) -> None:
    rates = ErrorRates(false_positives=wrong, without=of, false_negatives=0, having=10)
    upper, _ = rates.upper(0.1)
    if wrong == of:
        assert upper == 1.0
    else:
        assert binom.cdf(wrong, of, upper) == pytest.approx(0.05)


def test_both_bounds_hold_but_for_the_error() -> None:
    rng, missed = np.random.default_rng(0), 0
    for _ in range(2000):
        fp, fn = rng.binomial(200, 0.1), rng.binomial(100, 0.4)
        fpr, fnr = ErrorRates(
            false_positives=int(fp), without=200, false_negatives=int(fn), having=100
        ).upper(0.1)
        missed += fpr < 0.1 or fnr < 0.4
    assert missed <= binom.ppf(0.999, 2000, 0.1)


def test_scores_at_the_threshold_count_as_out() -> None:
    rates = ErrorRates.of(1.0, inside=[1.0, 2.0], outside=[1.0, 0.0, 3.0])
    assert rates.wrong == [[1, 3], [1, 2]]


def test_more_errors_than_trainings_are_refused() -> None:
    with pytest.raises(InvalidValue, match="from 0 to 3"):
        ErrorRates(false_positives=4, without=3, false_negatives=0, having=1)
