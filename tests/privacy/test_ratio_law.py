from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.privacy.ratio_law import RatioLaw, add, cut_ends

masses = st.lists(st.floats(0.0, 1.0), min_size=2, max_size=8).filter(lambda m: sum(m) > 0.1)


def law(mass: list[float], first: int, step: float) -> RatioLaw:
    weights = np.array(mass) / sum(mass)
    return RatioLaw(step=step, first=first, mass=weights, zero=0.0, beyond=0.0, error=0.0, blur=0.0)


def mean_of(found: RatioLaw, convex: str, at: float) -> float:
    """E of a hockey stick: (X - at)+, or (at - X)+."""
    x = np.exp(found.points)
    if convex == "call":
        return float(found.mass @ np.maximum(x - at, 0.0)) + found.beyond
    return float(found.mass @ np.maximum(at - x, 0.0)) + at * found.zero


@given(one=masses, other=masses, first=st.integers(-3, 3), step=st.floats(0.05, 1.0))
def test_a_sum_keeps_its_mean_and_is_wider_than_the_true_one(
    one: list[float], other: list[float], first: int, step: float
) -> None:
    a, b = law(one, 0, step), law(other, first, step)
    total = add(a, b, 0.0)
    values = np.add.outer(np.exp(a.points), np.exp(b.points)).ravel()
    weights = np.multiply.outer(a.mass, b.mass).ravel()
    assert float(total.mass @ np.exp(total.points)) == pytest.approx(float(weights @ values), rel=1e-9)
    assert float(total.mass.sum()) == pytest.approx(1.0)
    for at in np.quantile(values, [0.1, 0.5, 0.9]):
        call = float(weights @ np.maximum(values - at, 0.0))
        put = float(weights @ np.maximum(at - values, 0.0))
        assert mean_of(total, "call", at) >= call - 1e-9
        assert mean_of(total, "put", at) >= put - 1e-9
        # And not by more than a step of the grid.
        assert mean_of(total, "call", at) <= call + math.expm1(step) * float(values.max())


@given(mass=masses, step=st.floats(0.05, 1.0), tail=st.floats(0.0, 0.3))
def test_ends_that_are_cut_off_make_a_law_wider(mass: list[float], step: float, tail: float) -> None:
    whole = law(mass, -2, step)
    short = cut_ends(whole, tail)
    assert short.zero <= tail
    assert short.beyond <= tail * (1 + 1e-6)
    for at in np.exp(whole.points):
        for convex in ("call", "put"):
            assert mean_of(short, convex, float(at)) >= mean_of(whole, convex, float(at)) - 1e-12


def test_a_mass_at_zero_adds_nothing_and_one_at_infinity_stays() -> None:
    step = math.log(2.0)
    zero = RatioLaw(step=step, first=0, mass=np.array([0.5]), zero=0.5, beyond=0.1, error=0.0, blur=0.0)
    total = add(zero, zero, 0.0)
    assert total.zero == 0.25
    assert total.beyond == pytest.approx(0.2)
    assert dict(zip(np.exp(total.points).round(6).tolist(), total.mass.tolist(), strict=True)) == {
        1.0: 0.5,
        2.0: 0.25,
    }
