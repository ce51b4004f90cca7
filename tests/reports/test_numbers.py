from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from fedward.reports.numbers import at_most, best_guess, factor


@given(epsilon=st.floats(0, 300), delta=st.floats(1e-9, 0.5))
def test_what_is_said_is_never_better_than_what_is_proven(epsilon: float, delta: float) -> None:
    told = factor(epsilon).replace(",", "")
    if "^" in told:
        lead, _, power = told.rpartition("10^")
        told_log = math.log(float(lead.replace(" x ", "") or 1)) + int(power) * math.log(10)
    else:
        told_log = math.log(float(told))
    assert told_log >= epsilon - 1e-6
    best = best_guess(epsilon, delta)
    assert 0.5 <= best <= 1
    share = at_most(best).split("\xa0")[0].removeprefix("practically ")
    assert float(share) >= 100 * best - 1e-6


@given(epsilon=st.floats(0, 20), delta=st.floats(0, 0.5), threshold=st.floats(0, 1))
def test_no_randomised_response_beats_the_bound_on_guesses(
    epsilon: float, delta: float, threshold: float
) -> None:
    """The worst mechanism there is: with δ it tells, else it answers truly with odds e^ε."""
    truly = 1 / (1 + math.exp(-epsilon))
    right = delta + (1 - delta) * truly
    assert right <= best_guess(epsilon, delta) + 1e-12
