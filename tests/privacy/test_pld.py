from __future__ import annotations

import math

import mpmath as mp
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.privacy import Budget, Ledger, epsilon_of, noise_for, rounds_for
from fedward.privacy.pld import NoiseTooSmall
from privacy.exact_divergence import Rounds, exact_delta


def pld(rounds: Rounds, delta: float) -> float:
    spending = [(PoissonSampledDpEvent(q, GaussianDpEvent(z)), count) for q, z, count in rounds]
    return epsilon_of(spending, delta, "pld", "add/remove")


@pytest.mark.parametrize(("q", "z", "rounds", "delta"), [(0.1, 3.0, 300, 1e-4), (1.0, 2.0, 4, 1e-5)])
def test_the_truth_that_the_others_are_compared_with_is_known_elsewhere(
    q: float, z: float, rounds: int, delta: float
) -> None:
    event = PoissonSampledDpEvent(q, GaussianDpEvent(z))
    known = PLDAccountant(value_discretization_interval=1e-5).compose(event, rounds).get_epsilon(delta)
    assert exact_delta([(q, z, rounds)], known) == pytest.approx(delta, rel=1e-6)


# By dp_accounting's transforms the first two were 10.6973 and 26.155.
@pytest.mark.parametrize(
    ("rounds", "delta", "low", "high"),
    [
        ([(0.01, 1.0, 10_000)], 1e-13, 10.833, 10.834),
        ([(0.1, 30.0, 10**6)], 1e-10, 26.212, 26.216),
        ([(0.01, 1.0, 10_000)], 1e-60, 27.719, 27.720),
        ([(0.001, 0.6, 10**5)], 1e-13, 12.441, 12.442),
        ([(0.5, 2.0, 50)], 1e-100, 53.148, 53.149),
        ([(0.1, 3.0, 300), (0.1, 2.0, 15), (1.0, 8.0, 1)], 1e-15, 5.465, 5.466),
    ],
)
def test_a_small_delta_holds_as_it_is_printed(rounds: Rounds, delta: float, low: float, high: float) -> None:
    epsilon = pld(rounds, delta)
    assert low < epsilon < high
    # Not too small by anything; too large only by what the grid rounds up.
    assert exact_delta(rounds, epsilon) <= delta
    assert exact_delta(rounds, epsilon, removed=False) <= delta
    assert exact_delta(rounds, epsilon - 3e-3) > delta


@settings(max_examples=10)
@given(
    q=st.floats(0.01, 0.8), z=st.floats(0.8, 20.0), drawn=st.floats(60.0, 400.0), digits=st.floats(2.0, 80.0)
)
def test_no_epsilon_is_smaller_than_the_true_one(q: float, z: float, drawn: float, digits: float) -> None:
    rounds, delta = [(q, z, round(drawn / q))], 10.0**-digits
    try:
        epsilon = pld(rounds, delta)
    except NoiseTooSmall:
        return
    if epsilon > 0:
        assert exact_delta(rounds, epsilon) <= delta
        assert exact_delta(rounds, epsilon * (1 - 1e-3)) > delta


@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-8, 1e-13, 1e-30, 1e-100, 1e-190])
@pytest.mark.parametrize("z", [0.5, 3.0, 40.0])
def test_a_gaussian_is_right_at_every_delta(z: float, delta: float) -> None:
    def divergence(epsilon: float) -> mp.mpf:
        with mp.workdps(250):
            return mp.ncdf(mp.mpf(1) / (2 * z) - epsilon * mp.mpf(z)) - mp.exp(epsilon) * mp.ncdf(
                -mp.mpf(1) / (2 * z) - epsilon * mp.mpf(z)
            )

    epsilon = pld([(1.0, z, 1)], delta)
    assert divergence(epsilon) <= delta
    assert epsilon == 0 or divergence(epsilon - 1e-5) > delta


def test_at_a_usual_delta_nothing_moves() -> None:
    # The numbers of dp_accounting, to more digits than anybody prints.
    for q, z, rounds, delta in [(0.1, 3.0, 300, 1e-5), (0.01, 0.7, 300, 1e-5), (0.2, 1.0, 100, 1e-3)]:
        event = PoissonSampledDpEvent(q, GaussianDpEvent(z))
        known = PLDAccountant().compose(event, rounds).get_epsilon(delta)
        assert pld([(q, z, rounds)], delta) == pytest.approx(known, abs=2e-9)


def test_noise_and_rounds_found_for_a_small_delta_keep_to_it() -> None:
    def event(z: float) -> PoissonSampledDpEvent:
        return PoissonSampledDpEvent(0.01, GaussianDpEvent(z))

    z = noise_for(10.7, 1e-13, event, 10_000, "pld", "add/remove")
    assert z > 1.0
    assert exact_delta([(0.01, z, 10_000)], 10.7) <= 1e-13
    rounds = rounds_for(10.7, 1e-13, event(1.0), "pld", "add/remove")
    assert rounds < 10_000
    assert exact_delta([(0.01, 1.0, rounds)], 10.7) <= 1e-13 < exact_delta([(0.01, 1.0, rounds + 10)], 10.7)


def test_a_budget_at_a_small_delta_ends_in_time() -> None:
    event = PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0))
    budget = Budget(epsilon=10.7, delta=1e-13, accountant="pld")
    ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    assert not budget.affords(ledger.charged(event, 9_999), event)
    assert budget.affords(ledger.charged(event, 9_700), event)


@pytest.mark.parametrize("delta", [9e-201, 1e-300, 5e-324])
def test_a_delta_that_floats_do_not_reach_is_refused_with_the_smallest_that_is_not(delta: float) -> None:
    with pytest.raises(InvalidValue, match=r"delta must be at least 1e-200 for pld, got .*; use rdp"):
        pld([(0.1, 3.0, 3)], delta)
    with pytest.raises(InvalidValue, match="delta must be at least 1e-200 for pld"):
        noise_for(1.0, delta, GaussianDpEvent, 3, "pld", "add/remove")
    assert math.isfinite(pld([(0.1, 3.0, 3)], 1e-200))


def test_a_large_delta_costs_nothing() -> None:
    assert pld([(0.3, 100.0, 5)], 0.01) == 0.0
    assert pld([(1.0, 1e50, 10**7)], 1e-5) == 0.0


@pytest.mark.parametrize(("q", "z", "rounds"), [(0.2, 0.7, 1), (1e-3, 0.3, 4), (1e-6, 2.0, 10)])
def test_an_epsilon_is_0_only_where_delta_covers_all_that_the_rounds_show(
    q: float, z: float, rounds: int
) -> None:
    """One round shows q (2 Φ(1 / 2z) - 1) at ε = 0, and several show no more than their sum."""
    event = PoissonSampledDpEvent(q, GaussianDpEvent(z))
    shown = q * math.erf(0.5 / z / math.sqrt(2.0))
    assert epsilon_of([(event, rounds)], shown * rounds * (1 + 1e-6), "pld", "add/remove") == 0.0
    assert epsilon_of([(event, 1)], shown * (1 - 1e-3), "pld", "add/remove") > 0.0
