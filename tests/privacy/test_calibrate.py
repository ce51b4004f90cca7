from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from dp_accounting import (
    DpEvent,
    GaussianDpEvent,
    NonPrivateDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.privacy import ACCOUNTANTS, Adjacency, epsilon_of, noise_for, rounds_for
from fedward.privacy.pld import require_a_grid, rough_pld
from fedward.privacy.rounding import round_up_digits
from fedward.privacy.spending import mechanisms


def poisson(z: float) -> DpEvent:
    return PoissonSampledDpEvent(0.1, GaussianDpEvent(z))


def fixed_size(z: float) -> DpEvent:
    return SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(z / 2))


@pytest.mark.parametrize(
    ("epsilon", "delta", "event_of", "rounds", "accountant", "adjacency"),
    [
        (1.0, 1e-5, poisson, 100, "moments", "add/remove"),
        (1.0, 1e-5, poisson, 100, "rdp", "add/remove"),
        (1.0, 1e-5, poisson, 100, "pld", "add/remove"),
        (0.7687, 0.0029, fixed_size, 3, "rdp", "replace-one"),
        (50.0, 1e-5, GaussianDpEvent, 10, "moments", "local"),
        (0.3, 1e-5, GaussianDpEvent, 10**5, "rdp", "local"),
    ],
)
def test_the_noise_is_the_least_that_reaches_the_target(
    epsilon: float,
    delta: float,
    event_of: Callable[[float], DpEvent],
    rounds: int,
    accountant: str,
    adjacency: Adjacency,
) -> None:
    z = noise_for(epsilon, delta, event_of, rounds, accountant, adjacency)
    assert epsilon_of([(event_of(z), rounds)], delta, accountant, adjacency) <= epsilon
    assert epsilon_of([(event_of(z / 1.0001), rounds)], delta, accountant, adjacency) > epsilon


def test_the_papers_noise_comes_back_from_its_epsilon() -> None:
    assert noise_for(0.28085, 0.0029, poisson, 3, "moments", "add/remove") == pytest.approx(3.0, rel=1e-3)
    assert noise_for(0.7687, 0.0029, fixed_size, 3, "rdp", "replace-one") == pytest.approx(3.0, rel=1e-3)


@settings(max_examples=30)
@given(
    epsilon=st.floats(0.4, 50.0),
    q=st.floats(1e-4, 1.0),
    rounds=st.integers(1, 10**5),
)
def test_calibrated_noise_affords_exactly_the_rounds_it_was_calibrated_for(
    epsilon: float, q: float, rounds: int
) -> None:
    def event_of(z: float) -> DpEvent:
        return PoissonSampledDpEvent(q, GaussianDpEvent(z))

    z = noise_for(epsilon, 1e-6, event_of, rounds, "moments", "add/remove")
    assert epsilon_of([(event_of(z / 1.0001), rounds)], 1e-6, "moments", "add/remove") > epsilon
    affordable = rounds_for(epsilon, 1e-6, event_of(z), "moments", "add/remove")
    assert affordable >= rounds
    if affordable < 10**6:
        assert epsilon_of([(event_of(z), affordable + 1)], 1e-6, "moments", "add/remove") > epsilon


@pytest.mark.parametrize(("accountant", "epsilon"), [("moments", 1.0), ("rdp", 1.0), ("pld", 1.0)])
def test_the_rounds_are_the_most_that_keep_to_the_target(accountant: str, epsilon: float) -> None:
    rounds = rounds_for(epsilon, 1e-5, poisson(2.0), accountant, "add/remove")
    assert epsilon_of([(poisson(2.0), rounds)], 1e-5, accountant, "add/remove") <= epsilon
    assert epsilon_of([(poisson(2.0), rounds + 1)], 1e-5, accountant, "add/remove") > epsilon


def test_rounds_end_at_the_limit() -> None:
    assert rounds_for(1.0, 1e-5, poisson(1000.0), "moments", "add/remove", limit=50) == 50
    assert rounds_for(1.0, 1e-5, NoOpDpEvent(), "pld", "add/remove", limit=50) == 50


def test_the_searches_call_the_accountant_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counting(*arguments: Any) -> float:
        calls.append(arguments)
        return ACCOUNTANTS["moments"](*arguments)

    monkeypatch.setitem(ACCOUNTANTS, "counting", counting)
    noise_for(1.0, 1e-5, poisson, 100, "counting", "add/remove")
    assert len(calls) <= 16
    calls.clear()
    rounds_for(1.0, 1e-5, poisson(2.0), "counting", "add/remove")
    assert len(calls) <= 16


def test_one_round_that_costs_more_is_said_to() -> None:
    cost = epsilon_of([(poisson(0.5), 1)], 1e-5, "moments", "add/remove")
    with pytest.raises(
        InvalidValue, match=rf"at least what one round costs, {round_up_digits(cost, 6)}, got 0\.5"
    ):
        rounds_for(0.5, 1e-5, poisson(0.5), "moments", "add/remove")
    with pytest.raises(InvalidValue, match="one round costs, inf"):
        rounds_for(0.5, 1e-5, NonPrivateDpEvent(), "moments", "add/remove")


def test_a_target_out_of_reach_is_said_to_be() -> None:
    # log(1/δ)/62: however much noise there is, the papers' conversion does not go below.
    floor = math.log(1e5) / 62
    with pytest.raises(InvalidValue, match=r"within reach of noise, got 0\.1.*still gives ε = 0\.1857"):
        noise_for(0.1, 1e-5, poisson, 3, "moments", "add/remove")
    assert noise_for(floor * 1.01, 1e-5, poisson, 3, "moments", "add/remove") > 1
    with pytest.raises(InvalidValue, match="within reach of noise"):
        noise_for(1.0, 1e-5, lambda z: NonPrivateDpEvent(), 3, "pld", "add/remove")
    with pytest.raises(InvalidValue, match="small enough to need noise"):
        noise_for(1e9, 1e-5, poisson, 3, "moments", "add/remove")


@pytest.fixture
def without_pld(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes every call of the slow accountant a failure."""

    def never(*arguments: Any) -> float:
        raise AssertionError("pld was called")

    monkeypatch.setitem(ACCOUNTANTS, "pld", never)


@pytest.mark.usefixtures("without_pld")
def test_an_epsilon_beyond_pld_is_refused_at_once() -> None:
    with pytest.raises(InvalidValue, match=r"epsilon must be at most 200 for pld, got 1e\+09; use rdp"):
        noise_for(1e9, 1e-5, poisson, 3, "pld", "add/remove")
    with pytest.raises(InvalidValue, match="epsilon must be at most 200 for pld, got 201; use rdp"):
        rounds_for(201.0, 1e-5, poisson(1.0), "pld", "add/remove")


@pytest.mark.usefixtures("without_pld")
def test_what_the_least_noise_of_pld_meets_takes_no_search() -> None:
    assert noise_for(199.0, 1e-5, poisson, 3, "pld", "add/remove") == 0.1


def test_the_least_noise_of_pld_is_not_the_answer_where_it_spends_more_or_is_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def quick(spending: Any, delta: float, adjacency: Adjacency) -> float:
        """Refuses what pld does, in no time."""
        require_a_grid(mechanisms(spending), delta, adjacency)
        return ACCOUNTANTS["moments"](spending, delta, adjacency)

    monkeypatch.setitem(ACCOUNTANTS, "pld", quick)
    assert noise_for(40.0, 1e-5, poisson, 3, "pld", "add/remove") > 0.2
    halved = noise_for(199.0, 1e-5, lambda z: GaussianDpEvent(z / 2), 1, "pld", "add/remove")
    assert halved == pytest.approx(0.2, rel=1e-4)


@pytest.mark.usefixtures("without_pld")
def test_a_delta_that_covers_a_training_without_noise_is_refused() -> None:
    with pytest.raises(InvalidValue, match="below the chance that a user is drawn at all, got 1e-05"):
        noise_for(
            1.0, 1e-5, lambda z: PoissonSampledDpEvent(1e-12, GaussianDpEvent(z)), 100, "pld", "add/remove"
        )


def test_a_small_sampling_rate_takes_a_few_fine_accountings(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a rough grid, which takes a tenth of the time, the rest of the search is done."""
    fine: list[float] = []

    def finer(spending: Any, delta: float, adjacency: Adjacency) -> float:
        fine.append(spending[0][0].event.noise_multiplier)
        return rough_pld(spending, delta, adjacency) * 1.01

    def event_of(z: float) -> DpEvent:
        return PoissonSampledDpEvent(1e-4, GaussianDpEvent(z))

    monkeypatch.setitem(ACCOUNTANTS, "pld", finer)
    z = noise_for(1.0, 1e-5, event_of, 100, "pld", "add/remove")
    assert len(fine) <= 6
    assert finer([(event_of(z), 100)], 1e-5, "add/remove") <= 1.0
    assert finer([(event_of(z / 1.0001), 100)], 1e-5, "add/remove") > 1.0


def test_what_has_no_proof_is_refused() -> None:
    with pytest.raises(InvalidValue, match="must be accounted by rdp"):
        noise_for(1.0, 1e-5, fixed_size, 3, "pld", "replace-one")
    with pytest.raises(InvalidValue, match="add/remove"):
        rounds_for(1.0, 1e-5, poisson(1.0), "rdp", "local")


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": value} for value in (0.0, -1.0, math.nan, math.inf, "1")]
    + [{"delta": value} for value in (0.0, 1.0, math.nan, -1e-5)]
    + [{"rounds": value} for value in (0, -1, 2.5, math.nan)]
    + [{"accountant": "pdl"}, {"adjacency": "remove"}],
)
def test_bad_arguments_are_refused_before_any_work(changes: dict[str, Any]) -> None:
    def never(z: float) -> DpEvent:
        raise AssertionError("work was started")

    arguments: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-5,
        "event_of": never,
        "rounds": 3,
        "accountant": "rdp",
        "adjacency": "local",
    }
    with pytest.raises((InvalidValue, InvalidType)):
        noise_for(**arguments | changes)
    others = {
        name: value for name, value in (arguments | changes).items() if name not in ("event_of", "rounds")
    }
    with pytest.raises((InvalidValue, InvalidType)):
        rounds_for(event=GaussianDpEvent(1.0), limit=changes.get("rounds", 10), **others)
