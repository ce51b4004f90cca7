from __future__ import annotations

import math

import pytest
from dp_accounting import GaussianDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from fedward.auditing.rate_bound import least_epsilon
from fedward.base.validate import InvalidValue
from fedward.privacy.accountants import epsilon_of


@settings(max_examples=30, deadline=None)
@given(st.floats(0.5, 4.0), st.floats(-3.0, 5.0), st.sampled_from([1e-6, 1e-3]))
def test_no_test_of_a_gaussian_proves_more_than_its_epsilon(z: float, cut: float, delta: float) -> None:
    fpr, fnr = float(norm.sf(cut)), float(norm.cdf(cut - 1 / z))
    true = epsilon_of([(GaussianDpEvent(z), 1)], delta, "pld", "add/remove")
    assert least_epsilon(fpr, fnr, delta) <= true + 1e-6


@settings(deadline=None)
@given(st.floats(0.0, 8.0))
def test_randomised_response_proves_its_own_epsilon(epsilon: float) -> None:
    wrong = 1 / (1 + math.exp(epsilon))
    assert least_epsilon(wrong, wrong, 0.0) == pytest.approx(epsilon, abs=1e-9)


def test_rates_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidValue, match="from 0 to 1"):
        least_epsilon(1.2, 0.1, 1e-5)
