from __future__ import annotations

import decimal
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base import exact_exponential
from fedward.base.exact_exponential import Uniform, exponential_bounds, exponential_coin


def bytes_of(seed: int, bits: list[int] | None = None):  # type: ignore[no-untyped-def]
    """A source of bytes that can be repeated; ``bits`` counts what was drawn."""
    rng = random.Random(seed)

    def draw(count: int) -> bytes:
        if bits is not None:
            bits.append(8 * count)
        return rng.randbytes(count)

    return draw


def true_value(x: Fraction, bits: int) -> decimal.Decimal:
    """2^bits e^-x by the decimal module, to far more digits than are compared."""
    with decimal.localcontext(decimal.Context(prec=150)):
        exponent = -decimal.Decimal(x.numerator) / decimal.Decimal(x.denominator)
        return exponent.exp() * decimal.Decimal(2) ** bits


@given(
    x=st.fractions(min_value=0, max_value=200, max_denominator=2**70),
    bits=st.sampled_from([1, 8, 32, 124, 200]),
)
def test_the_true_value_lies_between_bounds_that_are_close(x: Fraction, bits: int) -> None:
    lower, upper = exponential_bounds(x, bits)
    assert lower <= true_value(x, bits) <= upper
    assert 0 <= upper - lower <= 2


def test_a_negative_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        exponential_bounds(Fraction(-1), 8)


def test_no_more_bits_are_drawn_than_decide() -> None:
    drawn: list[int] = []
    draw = bytes_of(1, drawn)
    # 2^-3 is told from nearly every number by its first 64 bits.
    fallen = [Uniform(draw=draw).below(lambda bits: (1 << bits - 3, 1 << bits - 3)) for _ in range(1000)]
    assert drawn == [64] * 1000
    assert abs(sum(fallen) - 125) < 5 * math.sqrt(125)


def test_undecided_bits_are_refined_until_they_decide() -> None:
    """All bits of p are those of the prefix: only what follows decides."""
    x = Fraction(1)
    prefix = exponential_bounds(x, 32)[0]
    results = {exponential_coin(x, Uniform(prefix, 32, bytes_of(seed))) for seed in range(20)}
    assert results == {True, False}
    assert exponential_coin(x, Uniform(prefix - 1, 32, bytes_of(0)))
    assert not exponential_coin(x, Uniform(prefix + 1, 32, bytes_of(0)))


@pytest.mark.parametrize("x", [Fraction(1, 7), Fraction(1), Fraction(9, 2)])
@pytest.mark.parametrize("factor", [Fraction(1), Fraction(5, 6)])
def test_a_coin_falls_as_often_as_it_must(x: Fraction, factor: Fraction) -> None:
    draw, count = bytes_of(7), 4000
    fallen = sum(exponential_coin(x, Uniform(draw=draw), factor) for _ in range(count))
    p = float(factor) * math.exp(-x)
    assert abs(fallen - count * p) < 4.5 * np.sqrt(count * p * (1 - p))


@pytest.mark.parametrize("bits", [1, 4, 8, 20])
def test_bounds_hold_without_any_bits_to_spare(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rounding goes the right way: it is not the spare bits that make the bounds right."""
    monkeypatch.setattr(exact_exponential, "_GUARD", 0)
    for k in range(1, 400):
        x = Fraction(k * k + k % 7, 97)
        if x <= 60:
            lower, upper = exponential_bounds(x, bits)
            assert lower <= true_value(x, bits) <= upper
