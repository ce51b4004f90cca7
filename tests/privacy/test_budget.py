from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from dp_accounting import (
    DpEvent,
    GaussianDpEvent,
    NonPrivateDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)

from fedward.base.validate import InvalidType, InvalidValue
from fedward.privacy import ACCOUNTANTS, Adjacency, Budget, Ledger, Spending, epsilon_of
from fedward.privacy.rounding import round_up_digits

POISSON = PoissonSampledDpEvent(0.1, GaussianDpEvent(2.0))
OTHER = PoissonSampledDpEvent(0.1, GaussianDpEvent(1.5))
FIXED = SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(1.5))
LEDGER = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
SYSTEM = replace(LEDGER, noise_source="system")
REPLACE_ONE = replace(LEDGER, adjacency="replace-one")


def trained(budget: Budget, ledger: Ledger, event: DpEvent, rounds: int) -> Ledger:
    """A training that asks before each round, as the core does."""
    while ledger.rounds < rounds:
        reserved = ledger.reserve(ledger.rounds, event)
        if not budget.covers(reserved, rounds):
            break
        ledger = reserved.settle(reserved.rounds)
    return ledger


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[Spending]]:
    """Puts a counter before an accountant, under a name of its own so that nothing is remembered of it."""

    def count(name: str) -> list[Spending]:
        calls: list[Spending] = []
        real = ACCOUNTANTS[name]

        def counting(spending: Spending, delta: float, adjacency: Adjacency) -> float:
            calls.append(spending)
            return real(spending, delta, adjacency)

        monkeypatch.setitem(ACCOUNTANTS, "counting", counting)
        return calls

    return count


@pytest.mark.parametrize(
    ("accountant", "ledger", "event", "epsilon"),
    [
        ("moments", LEDGER, POISSON, 1.0),
        ("rdp", LEDGER, POISSON, 1.0),
        ("pld", LEDGER, POISSON, 1.0),
        ("rdp", REPLACE_ONE, FIXED, 2.0),
        ("moments", REPLACE_ONE, FIXED, 0.5),
    ],
)
def test_training_stops_exactly_before_the_round_that_would_overspend(
    accountant: str, ledger: Ledger, event: DpEvent, epsilon: float
) -> None:
    budget = Budget(epsilon=epsilon, delta=1e-3, accountant=accountant)
    stopped = trained(budget, ledger, event, rounds=1000)
    assert 1 < stopped.rounds < 1000
    assert epsilon_of([(event, stopped.rounds)], 1e-3, accountant, ledger.adjacency) <= epsilon
    assert epsilon_of([(event, stopped.rounds + 1)], 1e-3, accountant, ledger.adjacency) > epsilon


@pytest.mark.parametrize("accountant", ["moments", "rdp", "pld"])
def test_what_was_spent_before_counts(accountant: str) -> None:
    budget = Budget(epsilon=1.2, delta=1e-3, accountant=accountant)
    stopped = trained(budget, LEDGER.charged(OTHER, 5), POISSON, rounds=80)
    further = stopped.rounds - 5
    assert further > 1
    assert epsilon_of([(OTHER, 5), (POISSON, further)], 1e-3, accountant, "add/remove") <= 1.2
    assert epsilon_of([(OTHER, 5), (POISSON, further + 1)], 1e-3, accountant, "add/remove") > 1.2


def test_spending_exactly_the_budget_is_allowed() -> None:
    cost = epsilon_of([(POISSON, 7)], 1e-3, "moments", "add/remove")
    exact = Budget(epsilon=cost, delta=1e-3, accountant="moments")
    assert trained(exact, LEDGER, POISSON, rounds=100).rounds == 7
    less = Budget(epsilon=math.nextafter(cost, 0.0), delta=1e-3, accountant="moments")
    assert trained(less, LEDGER, POISSON, rounds=100).rounds == 6


@pytest.mark.parametrize("epsilon", [1.0, 1e6])
def test_ten_thousand_rounds_cost_a_few_calls(
    counted: Callable[[str], list[Spending]], epsilon: float
) -> None:
    calls = counted("moments")
    budget = Budget(epsilon=epsilon, delta=1e-3 + epsilon * 1e-12, accountant="counting")
    stopped = trained(budget, LEDGER, POISSON, rounds=10_000)
    assert stopped.rounds == 10_000 if epsilon > 1 else 1 < stopped.rounds < 10_000
    assert len(calls) <= (1 if epsilon > 1 else 15)


def test_a_budget_that_stops_late_costs_a_few_calls_too(counted: Callable[[str], list[Spending]]) -> None:
    event = PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0))
    calls = counted("moments")
    cost = epsilon_of([(event, 9_000)], 1e-5, "moments", "add/remove")
    assert (
        trained(Budget(epsilon=cost, delta=1e-5, accountant="counting"), LEDGER, event, 10_000).rounds
        == 9_000
    )
    assert len(calls) <= 15


def test_a_round_lost_with_system_entropy_shortens_the_training() -> None:
    budget = Budget(epsilon=1.0, delta=1e-3, accountant="moments")
    whole = trained(budget, SYSTEM, POISSON, rounds=1000)
    lost = trained(budget, SYSTEM.reserve(0, POISSON).reserve(0, POISSON).settle(0), POISSON, rounds=1000)
    assert lost.rounds == whole.rounds - 1


def test_a_resumed_round_with_seeded_noise_is_not_asked_for_twice() -> None:
    cost = epsilon_of([(POISSON, 1)], 1e-3, "moments", "add/remove")
    budget = Budget(epsilon=cost, delta=1e-3, accountant="moments")
    killed = LEDGER.reserve(0, POISSON)
    assert budget.affords(killed, POISSON)
    assert not budget.affords(SYSTEM.reserve(0, POISSON), POISSON)


@pytest.mark.parametrize("accountant", ["moments", "rdp", "pld"])
def test_what_has_no_guarantee_is_never_affordable(accountant: str) -> None:
    budget = Budget(epsilon=1e9, delta=1e-3, accountant=accountant)
    assert not budget.affords(LEDGER, NonPrivateDpEvent())
    assert not budget.affords(LEDGER.charged(NonPrivateDpEvent(), 1), POISSON)
    assert not budget.covers(replace(LEDGER, reason="no proof").charged(POISSON, 1), 1)
    with pytest.raises(InvalidValue, match="got one without"):
        budget.check_first_round(NonPrivateDpEvent(), "add/remove")


def test_an_event_that_the_accountant_refuses_is_refused_with_its_reason() -> None:
    budget = Budget(epsilon=1e9, delta=1e-3, accountant="pld")
    with pytest.raises(InvalidValue, match="must be accounted by rdp"):
        budget.check_first_round(FIXED, "replace-one")
    with pytest.raises(InvalidValue, match="must be accounted by rdp"):
        budget.affords(REPLACE_ONE, FIXED)
    with pytest.raises(InvalidValue, match="add/remove"):
        budget.check_first_round(POISSON, "replace-one")


def test_noise_too_small_for_pld_is_not_affordable() -> None:
    budget = Budget(epsilon=10.0, delta=1e-3, accountant="pld")
    assert not budget.affords(LEDGER, GaussianDpEvent(0.01), rounds_left=10)
    with pytest.raises(InvalidValue, match="noise multiplier must be at least"):
        budget.check_first_round(GaussianDpEvent(0.01), "add/remove")


@pytest.mark.parametrize("accountant", ["moments", "rdp", "pld"])
def test_a_budget_that_no_round_fits_in_is_refused_with_its_cost(accountant: str) -> None:
    cost = epsilon_of([(OTHER, 1)], 1e-3, accountant, "add/remove")
    with pytest.raises(
        InvalidValue, match=rf"at least what one round costs, ε = {round_up_digits(cost, 6)}, got 0\.01"
    ):
        Budget(epsilon=0.01, delta=1e-3, accountant=accountant).check_first_round(OTHER, "add/remove")
    Budget(epsilon=cost, delta=1e-3, accountant=accountant).check_first_round(OTHER, "add/remove")


def test_nothing_spent_is_covered() -> None:
    assert Budget(epsilon=1e-9, delta=1e-3, accountant="pld").covers(LEDGER, 10)


@pytest.mark.parametrize(
    "fields",
    [{"epsilon": value} for value in (0.0, -1.0, math.nan, math.inf, "1", True, None)]
    + [{"delta": value} for value in (0.0, 1.0, -1e-3, math.nan, math.inf, "x")]
    + [{"accountant": value} for value in ("pdl", None, 3)],
)
def test_a_bad_budget_is_refused(fields: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-3, "accountant": "pld"}
    with pytest.raises((InvalidValue, InvalidType)):
        Budget(**usual | fields)


@pytest.mark.parametrize("rounds", [0, -1, 1.5, math.nan, True])
def test_bad_numbers_of_rounds_are_refused(rounds: Any) -> None:
    budget = Budget(epsilon=1.0, delta=1e-3, accountant="moments")
    with pytest.raises((InvalidValue, InvalidType), match="rounds"):
        budget.covers(LEDGER, rounds)
    with pytest.raises((InvalidValue, InvalidType), match="rounds left"):
        budget.affords(LEDGER, POISSON, rounds)
