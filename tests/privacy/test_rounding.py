from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from fedward.privacy.guarantee import Guarantee
from fedward.privacy.rounding import delta_text, epsilon_text, percent_down, round_up, round_up_digits

POSITIVE = st.floats(1e-12, 1e12)


@given(st.floats(0, 1e9), st.integers(0, 8))
def test_decimals_are_never_below_and_within_one_of_the_last(value: float, places: int) -> None:
    told = float(round_up(value, places))
    assert told >= value
    assert told - value <= 10.0**-places * (1 + 1e-6) + 1e-15 * value


@given(POSITIVE, st.integers(1, 8))
def test_digits_are_never_below_and_within_one_of_the_last(value: float, digits: int) -> None:
    told = float(round_up_digits(value, digits))
    assert told >= value
    assert told - value <= 10.0 ** (math.floor(math.log10(value)) + 1 - digits) * (1 + 1e-6)


@given(st.floats(0, 1e9))
def test_a_printed_epsilon_is_never_below_the_true_one(epsilon: float) -> None:
    guarantee = Guarantee(
        epsilon=epsilon,
        delta=1e-5,
        unit="user",
        adjacency="add/remove",
        sampling="everyone in every round",
        accountant="pld",
        noise_source="seeded",
        rounds=3,
    )
    printed = str(guarantee).partition(",")[0]
    number = float(printed.split()[-1])
    assert number >= epsilon
    assert float(epsilon_text(epsilon)) >= epsilon
    if 1e-4 <= epsilon < 1e6:
        assert number - epsilon <= 1.0001e-4


@given(st.floats(1e-30, 0.999))
def test_a_printed_delta_is_never_below_the_true_one(delta: float) -> None:
    assert float(delta_text(delta)) >= delta


@given(st.floats(0, 1), st.integers(0, 4))
def test_a_certified_share_is_never_rounded_up(share: float, places: int) -> None:
    told = float(percent_down(share, places).removesuffix("%"))
    assert told <= 100 * share + 1e-12
    assert 100 * share - told <= 10.0**-places * (1 + 1e-6)


def test_what_was_meant_stays_as_it_is() -> None:
    assert [round_up(value) for value in (0.28, 1.1, 2.0, 0.0)] == ["0.2800", "1.1000", "2.0000", "0.0000"]
    assert [delta_text(value) for value in (1e-5, 1e-3, 0.0029)] == ["1e-05", "0.001", "0.0029"]
    assert percent_down(0.29, 0) == "29%"
