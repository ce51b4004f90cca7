from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from dp_accounting import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    NonPrivateDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    UnsupportedDpEvent,
)
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.privacy import Entry, Ledger, epsilon_of
from fedward.privacy.terms import Terms

EVENTS = [PoissonSampledDpEvent(0.1, GaussianDpEvent(z)) for z in (1.0, 2.0, 3.0)]
SEEDED = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
SYSTEM = replace(SEEDED, noise_source="system")
FIXED = replace(SEEDED, adjacency="replace-one")

# The life of a training: for each round its event, and how often it is killed before it can settle.
LIVES = st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 3)), max_size=12)


def charges(ledger: Ledger) -> int:
    return sum(count for _, count in ledger.spending)


def lived(ledger: Ledger, life: list[tuple[DpEvent, int]]) -> Ledger:
    for t, (event, kills) in enumerate(life):
        for _ in range(kills + 1):
            ledger = ledger.reserve(t, event)
        ledger = ledger.settle(t)
    return ledger


@given(LIVES)
def test_with_seeded_noise_a_killed_training_ends_with_the_ledger_of_an_uninterrupted_one(
    life: list[tuple[DpEvent, int]],
) -> None:
    assert lived(SEEDED, life) == lived(SEEDED, [(event, 0) for event, _ in life])


@given(st.lists(st.sampled_from(EVENTS), min_size=1, max_size=12), st.data())
def test_rounds_reserved_ahead_count_at_once_and_leave_what_rounds_one_by_one_leave(
    events: list[DpEvent], data: st.DataObject
) -> None:
    before = data.draw(st.integers(0, len(events)))
    ledger = lived(SEEDED, [(event, 0) for event in events[:before]])
    ahead = ledger.reserve_ahead(events[before:])
    assert sorted(map(str, spread(ahead))) == sorted(map(str, events))
    assert (ahead.rounds, ahead.rounds_reserved) == (before, len(events) - before)
    for t, event in enumerate(events[before:], start=before):
        assert ahead.reserve(t, event) == ahead  # a run that goes on here reserves it once more
        ahead = ahead.settle(t)
        assert sorted(map(str, spread(ahead))) == sorted(map(str, events))
    assert ahead == lived(SEEDED, [(event, 0) for event in events])
    assert ledger.reserve_ahead(events[before:]).settled() == ahead


def spread(ledger: Ledger) -> list[DpEvent]:
    return [event for event, count in ledger.spending for _ in range(count)]


def test_more_rounds_may_be_reserved_after_some_but_no_others_in_their_place() -> None:
    ahead = SEEDED.reserve_ahead(EVENTS[:2])
    assert ahead.reserve_ahead(EVENTS).rounds_reserved == 3
    for others in (EVENTS[1:], EVENTS[:1], []):
        with pytest.raises(InvalidValue, match="with the events reserved for them, got others"):
            ahead.reserve_ahead(others)
    with pytest.raises(InvalidValue, match="seeded noise alone may be reserved ahead"):
        SYSTEM.reserve_ahead(EVENTS)
    with pytest.raises(InvalidValue, match="round 1 must be reserved next, got 2"):
        replace(ahead, later=(Entry(event=EVENTS[0], first_round=2),))


@given(LIVES)
def test_with_system_entropy_no_charge_is_ever_forgotten(life: list[tuple[DpEvent, int]]) -> None:
    ledger = lived(SYSTEM, life)
    assert ledger.rounds == len(life)
    for event in EVENTS:
        charged = sum(count for spent, count in ledger.spending if spent == event)
        assert charged == sum(kills + 1 for happened, kills in life if happened == event)


@given(LIVES)
def test_spending_never_falls(life: list[tuple[DpEvent, int]]) -> None:
    for start in (SEEDED, SYSTEM):
        ledger = start
        for t, (event, kills) in enumerate(life):
            for attempt in range(kills + 1):
                before, ledger = ledger, ledger.reserve(t, event)
                fresh = attempt == 0 or start is SYSTEM
                assert charges(ledger) == charges(before) + fresh
            before, ledger = ledger, ledger.settle(t)
            assert charges(ledger) == charges(before)


@given(LIVES)
def test_a_ledger_after_fewer_rounds_is_that_of_a_shorter_training(life: list[tuple[DpEvent, int]]) -> None:
    for start in (SEEDED, SYSTEM):
        ledger = lived(start, life)
        for rounds in range(len(life) + 1):
            assert ledger.after(rounds) == lived(start, life[:rounds])
        assert ledger.reserve(len(life), EVENTS[0]).after(len(life)) == ledger


@given(LIVES)
def test_merging_does_not_change_epsilon(life: list[tuple[DpEvent, int]]) -> None:
    ledger = lived(SEEDED, life)
    apart = [(event, 1) for event, _ in life]
    assert ledger.guarantee(1e-5, "moments").epsilon == epsilon_of(apart, 1e-5, "moments", "add/remove")


def test_many_trainings_have_spent_as_often_and_released_all_of_it() -> None:
    one = SEEDED.charged(EVENTS[0], 2).charged(EVENTS[1], 1)
    assert one.repeated(1) == one
    assert one.repeated(3).spending == ((EVENTS[0], 6), (EVENTS[1], 3))
    assert one.repeated(3).rounds == 9
    # What was reserved, or charged in vain, is paid by each of them too.
    assert charges(one.reserve(3, EVENTS[2]).repeated(3)) == 12
    assert one.reserve(3, EVENTS[2]).repeated(3).reserved is None


def test_ten_thousand_equal_rounds_are_one_entry() -> None:
    ledger = SEEDED
    for t in range(10_000):
        ledger = ledger.reserve(t, EVENTS[0]).settle(t)
    assert ledger.entries == (Entry(event=EVENTS[0], first_round=0, count=10_000),)
    assert ledger == SEEDED.charged(EVENTS[0], 10_000)
    assert ledger == SEEDED.charged(EVENTS[0], 4_000).charged(EVENTS[0], 6_000)


def test_a_reserved_round_is_spent_before_it_is_settled() -> None:
    reserved = SEEDED.reserve(0, EVENTS[0])
    assert reserved.spending == ((EVENTS[0], 1),)
    assert reserved.rounds == 0
    guarantee = reserved.guarantee(1e-5, "moments")
    assert guarantee.epsilon == epsilon_of([(EVENTS[0], 1)], 1e-5, "moments", "add/remove")
    assert (guarantee.rounds, guarantee.caveat) == (0, "1 more charged: reserved, not released")
    assert SEEDED.spending == ()


def test_a_lost_round_is_remembered_and_its_noise_may_differ() -> None:
    ledger = SYSTEM.reserve(0, EVENTS[0]).settle(0).reserve(1, EVENTS[0]).reserve(1, EVENTS[1]).settle(1)
    assert ledger.entries == (
        Entry(event=EVENTS[0], first_round=0),
        Entry(event=EVENTS[0], first_round=1, released=False),
        Entry(event=EVENTS[1], first_round=1),
    )
    assert ledger.rounds == 2
    assert ledger.guarantee(1e-5, "moments").caveat == "1 more charged: reserved, not released"


def test_with_seeded_noise_a_round_cannot_be_resumed_with_another_event() -> None:
    with pytest.raises(InvalidValue, match="round 0 must be resumed with its reserved"):
        SEEDED.reserve(0, EVENTS[0]).reserve(0, EVENTS[1])


@pytest.mark.parametrize("ledger", [SEEDED, SYSTEM])
@pytest.mark.parametrize("round", [0, 1, 3, 100])
def test_rounds_out_of_order_are_refused(ledger: Ledger, round: int) -> None:
    two = ledger.charged(EVENTS[0], 2)
    with pytest.raises(InvalidValue, match=f"round must be the next one, 2, got {round}"):
        two.reserve(round, EVENTS[0])
    with pytest.raises(InvalidValue, match=f"round must be the next one, 2, got {round}"):
        two.reserve(2, EVENTS[0]).settle(round)


@pytest.mark.parametrize("round", [-1, 0.0, True, None, "0"])
def test_a_round_must_be_a_whole_number(round: Any) -> None:
    with pytest.raises((InvalidValue, InvalidType), match="round must be"):
        SEEDED.reserve(round, EVENTS[0])


def test_only_what_was_reserved_can_be_settled() -> None:
    with pytest.raises(InvalidValue, match="round 0 must be reserved before it is settled"):
        SEEDED.settle(0)
    with pytest.raises(InvalidValue, match="must be settled before more are charged"):
        SEEDED.reserve(0, EVENTS[0]).charged(EVENTS[0], 3)


@pytest.mark.parametrize(
    "event",
    [GaussianDpEvent(0.0), GaussianDpEvent(math.nan), GaussianDpEvent(-1.0), UnsupportedDpEvent(), None],
)
def test_a_bad_event_is_refused(event: Any) -> None:
    with pytest.raises((InvalidValue, InvalidType)):
        SEEDED.reserve(0, event)


def test_a_ledger_cannot_be_changed_not_even_through_an_event() -> None:
    inner: list[DpEvent] = [GaussianDpEvent(1.0)]
    ledger = SEEDED.charged(ComposedDpEvent(inner), 1)
    inner.append(NonPrivateDpEvent())
    assert ledger.guarantee(1e-5, "moments").private
    with pytest.raises(FrozenInstanceError):
        ledger.reason = "changed"  # type: ignore[misc]


def test_the_guarantee_is_about_what_the_ledger_is_about() -> None:
    guarantee = SYSTEM.charged(EVENTS[2], 3).guarantee(0.0029, "moments")
    assert f"{guarantee.epsilon:.4f}" == "0.2808"
    assert (guarantee.unit, guarantee.adjacency, guarantee.sampling) == (
        "user",
        "add/remove",
        "Poisson sampling q = 0.1",
    )
    assert (guarantee.accountant, guarantee.noise_source, guarantee.rounds) == ("moments", "system", 3)
    assert (guarantee.caveat, guarantee.reason) == ("", "")


def test_the_papers_accounting_of_a_fixed_size_is_said_to_be_theirs() -> None:
    ledger = FIXED.charged(SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(1.5)), 3)
    guarantee = ledger.guarantee(0.0029, "moments")
    assert f"{guarantee.epsilon:.4f}" == "0.2808"
    assert "the paper's accounting: it assumes Poisson sampling, the cohort was drawn at fixed size" in str(
        guarantee
    )
    assert str(guarantee).startswith("not a guarantee, the papers' figure: (ε = 0.2808, δ = 0.0029)")
    assert "add/remove assumed" in str(guarantee)
    assert "replace-one" not in str(guarantee)
    assert not guarantee.proven
    assert ledger.guarantee(0.0029, "rdp").proven
    assert ledger.guarantee(0.0029, "rdp").epsilon == pytest.approx(0.7687, abs=5e-5)
    assert ledger.guarantee(0.0029, "rdp").caveat == ""
    with pytest.raises(InvalidValue, match="must be accounted by rdp"):
        ledger.guarantee(0.0029, "pld")


def test_a_release_that_is_not_private_ends_the_guarantee() -> None:
    ledger = SEEDED.charged(EVENTS[0], 3).charged(NonPrivateDpEvent(), 1)
    assert str(ledger.guarantee(1e-5, "pld")) == "no guarantee: a release was not private"
    assert (
        str(replace(ledger, reason="Krum has no proof").guarantee(1e-5, "pld"))
        == "no guarantee: Krum has no proof"
    )


def test_a_reason_against_it_ends_the_guarantee_whatever_was_spent() -> None:
    guarantee = replace(SEEDED, reason="no noise is added").charged(EVENTS[0], 3).guarantee(1e-5, "moments")
    assert guarantee.epsilon == math.inf
    assert str(guarantee) == "no guarantee: no noise is added"


def test_nothing_released_is_perfectly_private() -> None:
    assert SEEDED.guarantee(1e-5, "pld").epsilon == 0.0


@pytest.mark.parametrize(
    "changes",
    [
        {"unit": "person"},
        {"adjacency": "remove"},
        {"noise_source": "seed"},
        {"terms": "everyone"},
        {"terms": Terms(divisor=50.0)},
        {"reason": None},
        {"entries": ("no entry",)},
        {"entries": (Entry(event=EVENTS[0], first_round=1),)},
        {"entries": (Entry(event=EVENTS[0], first_round=0, count=2), Entry(event=EVENTS[1], first_round=1))},
        {"entries": (Entry(event=EVENTS[0], first_round=0, released=False),)},
        {"reserved": Entry(event=EVENTS[0], first_round=1)},
        {"reserved": Entry(event=EVENTS[0], first_round=0, count=2)},
        {"reserved": Entry(event=EVENTS[0], first_round=0, released=False)},
    ],
)
def test_a_ledger_that_contradicts_itself_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((InvalidValue, InvalidType)):
        replace(SEEDED, **changes)


@pytest.mark.parametrize(
    "fields",
    [
        {"first_round": -1},
        {"first_round": 0.5},
        {"count": 0},
        {"count": -2},
        {"count": 1.0},
        {"count": True},
        {"released": 1},
    ],
)
def test_a_bad_entry_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises((InvalidValue, InvalidType)):
        Entry(**{"event": EVENTS[0], "first_round": 0} | fields)


@pytest.mark.parametrize("delta", [0.0, 1.0, math.nan, -1.0])
def test_a_bad_delta_is_refused_whatever_was_spent(delta: float) -> None:
    for ledger in (SEEDED, SEEDED.charged(EVENTS[0], 1), SEEDED.charged(NonPrivateDpEvent(), 1)):
        with pytest.raises(InvalidValue, match="delta must be above 0 and below 1"):
            ledger.guarantee(delta, "moments")
