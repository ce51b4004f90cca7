from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedward.privacy import tilted
from fedward.privacy.losses import Losses
from fedward.privacy.sampled_gaussian import Array
from fedward.privacy.tilted import find_epsilon


def exact_sum(parts: list[tuple[Losses, int]]) -> tuple[int, list[mp.mpf]]:
    """The law of the sum, convolved in whole numbers: no rounding at all but the last."""
    first, total, bits = 0, np.array([1], dtype=object), 0
    for law, count in parts:
        mass = np.array([int(Fraction(float(p)) * 2**120) for p in law.mass], dtype=object)
        for _ in range(count):
            first, total, bits = first + law.first, np.convolve(total, mass), bits + 120
    with mp.workdps(200):
        return first, [mp.mpf(int(p)) / mp.mpf(2) ** bits for p in total]


def true_epsilon(parts: list[tuple[Losses, int]], step: float, delta: float) -> float:
    first, masses = exact_sum(parts)
    with mp.workdps(100):
        laws = [(mp.mpf(step) * (first + i), p) for i, p in enumerate(masses)]

        def divergence(epsilon: mp.mpf) -> mp.mpf:
            return mp.fsum(p * (1 - mp.exp(epsilon - x)) for x, p in laws if x > epsilon)

        low, high = laws[0][0], laws[-1][0]
        for _ in range(70):
            middle = (low + high) / 2
            low, high = (middle, high) if divergence(middle) > delta else (low, middle)
        return float(high)


def laws(least: float) -> st.SearchStrategy[list[tuple[int, list[float], int]]]:
    """One or two laws of a few points with masses of about ``least`` or more, and how often each is added."""
    masses = st.lists(st.floats(least, 1.0), min_size=2, max_size=6)
    return st.lists(st.tuples(st.integers(-5, 2), masses, st.integers(1, 9)), min_size=1, max_size=2)


def found_and_true(drawn: list[tuple[int, list[float], int]], digits: float) -> tuple[float, float, bool]:
    parts = [(Losses(first, np.array(m) / math.fsum(m), 0.0), count) for first, m, count in drawn]
    delta, step = 10.0**-digits, 0.25
    found, true = find_epsilon(parts, step, delta), true_epsilon(parts, step, delta)
    return found, true, true > step * sum(law.first * count for law, count in parts)


@settings(max_examples=60)
@example(drawn=[(0, [1.0, 1e-12], 1), (0, [1.0, 1e-12], 1)], digits=24.0)
@given(drawn=laws(1e-12), digits=st.floats(0.5, 60.0))
def test_the_epsilon_is_never_below_the_exact_one(
    drawn: list[tuple[int, list[float], int]], digits: float
) -> None:
    found, true, above_the_least = found_and_true(drawn, digits)
    if above_the_least:
        assert true <= found + 1e-12


@settings(max_examples=60)
@given(drawn=laws(1e-3), digits=st.floats(0.5, 60.0))
def test_the_epsilon_is_the_exact_one_where_no_mass_is_tiny(
    drawn: list[tuple[int, list[float], int]], digits: float
) -> None:
    """A law of two points of which one has a mass of 1e-12 is no longer smooth under any tilt."""
    found, true, above_the_least = found_and_true(drawn, digits)
    if above_the_least:
        assert found == pytest.approx(true, abs=1e-6)


def test_a_sum_is_off_by_no_more_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    mass = random.random(40) ** 4
    parts = [(Losses(-7, mass / mass.sum(), 0.0), 30)]
    first, exact = exact_sum(parts)
    start, found, error, _ = tilted._sum(parts)
    off = [abs(float(mp.mpf(float(p)) - exact[start - first + i])) for i, p in enumerate(found)]
    assert max(off) <= error
    # It is no wild guess either: the bound holds for the worst rounding, which is seldom met.
    assert error < 1e-11
    # And it is the roundings of the transform that it is about: one in single precision breaks it.
    monkeypatch.setattr(
        tilted, "rfft", lambda values: np.fft.rfft(values.astype(np.float32)).astype(np.complex64)
    )
    coarse = tilted._sum(parts)[1]
    assert max(abs(float(mp.mpf(float(p)) - exact[start - first + i])) for i, p in enumerate(coarse)) > error


def test_infinite_losses_are_paid_for_first() -> None:
    law = Losses(0, np.array([0.5, 0.5 - 1e-6]), 1e-6)
    without = Losses(0, np.array([0.5, 0.5]), 0.0)
    paid = 1 - (1 - 1e-6) ** 3
    assert find_epsilon([(law, 3)], 0.5, 1e-2) == pytest.approx(
        find_epsilon([(without, 3)], 0.5, 1e-2 - paid), abs=1e-4
    )


def bisected(loss: Array, share: Array, infinite: float) -> float:
    """The crossing by bisection alone, from one end of the grid to the other."""

    def spent(place: int) -> float:
        return infinite + float(np.sum(-np.expm1(loss[place] - loss[place + 1 :]) * share[place + 1 :]))

    below, above = 0, len(loss) - 1
    if spent(below) <= 1.0:
        return float(loss[below])
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if spent(middle) > 1.0 else (below, middle)
    upper = infinite + float(np.sum(share[above:]))
    lower = float(np.sum(share[above:] * np.exp(loss[below] - loss[above:])))
    return float(loss[below]) + math.log((upper - 1.0) / lower)


@pytest.mark.parametrize("points", [2, 3, 100, 5000, 9000])
@pytest.mark.parametrize("largest", [1e-3, 1.5, 40.0, 1e12])
def test_the_crossing_is_that_of_a_bisection_to_the_last_bit(
    points: int, largest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(points)
    loss: Array = 1e-2 * np.arange(points, dtype=np.float64) - 3.0
    for power in (0.0, 4.0):
        share = rng.random(points) * np.exp(-power * (loss - loss[0]))
        share *= largest / share.sum()
        expected = bisected(loss, share, 0.25)
        assert tilted._find_crossing(loss, share, 0.25) == expected
        # Wherever the guess is.
        for guess in (0, points // 3, points - 1):
            with monkeypatch.context() as changed:
                changed.setattr(tilted, "_guess_crossing", lambda *_, at=guess: at)
                assert tilted._find_crossing(loss, share, 0.25) == expected
