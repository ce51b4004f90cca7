from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fedward.certificates.level import level, percentage


@given(st.floats(min_value=1e-300, max_value=1.0, exclude_max=True))
def test_no_confidence_is_stated_that_the_error_does_not_leave(error: float) -> None:
    left = 1 - Fraction(Decimal(repr(error)))
    for stated in (Fraction(level(error)), Fraction(percentage(error)) / 100):
        assert left - Fraction(1, 10**47) <= stated <= left
        assert stated < 1


def test_a_tiny_error_does_not_become_certainty() -> None:
    assert (level(1e-7), percentage(1e-5)) == ("0.9999999", "99.999")
