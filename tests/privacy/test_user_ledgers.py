from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dp_accounting import DpEvent, GaussianDpEvent, NonPrivateDpEvent, PoissonSampledDpEvent
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.privacy import epsilon_of
from fedward.privacy.rounding import round_up
from fedward.privacy.terms import Terms
from fedward.privacy.user_ledgers import Reservation, UserLedgers
from fedward.privacy.user_ledgers_file import dumps, loads

GAUSSIAN = GaussianDpEvent(4.0)
STEPS = PoissonSampledDpEvent(0.1, GaussianDpEvent(1.5))
EVENTS: list[DpEvent] = [GAUSSIAN, GaussianDpEvent(2.0), STEPS]


def new(num_users: int = 5, **changes: Any) -> UserLedgers:
    about: dict[str, Any] = {"unit": "user", "adjacency": "add/remove"}
    return UserLedgers.new(num_users, **(about | changes))


def who(*users: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(users, dtype=np.int64)


def counts(ledgers: UserLedgers) -> list[Counter[DpEvent]]:
    """How often each user was charged for which event, user by user."""
    return [Counter(dict(ledgers.ledger(user).spending)) for user in range(ledgers.num_users)]


@st.composite
def trainings(draw: st.DrawFn) -> tuple[int, list[tuple[list[int], DpEvent]]]:
    users = draw(st.integers(1, 6))
    cohorts = st.lists(st.integers(0, users - 1), unique=True)
    return users, draw(st.lists(st.tuples(cohorts, st.sampled_from(EVENTS)), max_size=8))


@given(trainings())
def test_every_user_is_charged_what_a_ledger_of_its_own_would_hold(training: Any) -> None:
    users, rounds = training
    ledgers, plain = new(users), [Counter[DpEvent]() for _ in range(users)]
    for t, (cohort, event) in enumerate(rounds):
        ledgers = ledgers.reserve(t, who(*cohort), event)
        for user in cohort:
            plain[user][event] += 1
        assert counts(ledgers) == plain  # what is reserved is spent
        ledgers = ledgers.settle(t)
        assert counts(ledgers) == plain
    # Users with equal histories share one, and there is no other.
    assert len(ledgers.histories) == len({tuple(sorted(map(str, spent.elements()))) for spent in plain})
    assert ledgers.reserved is None


@given(trainings())
def test_worst_median_and_histogram_are_those_of_all_users_one_by_one(training: Any) -> None:
    users, rounds = training
    ledgers = new(users)
    for t, (cohort, event) in enumerate(rounds):
        ledgers = ledgers.reserve(t, who(*cohort), event).settle(t)
    each = sorted(ledgers.guarantee(user, 1e-5, "rdp").epsilon for user in range(users))
    found = ledgers.guarantees(1e-5, "rdp")
    assert found.worst.epsilon == each[-1]
    assert found.median == each[(users - 1) // 2]
    assert sorted(epsilon for epsilon, count in found.histogram() for _ in range(count)) == each
    assert [epsilon for epsilon, _ in found.histogram()] == sorted(e for e, _ in found.histogram())
    assert max(ledger.guarantee(1e-5, "rdp").epsilon for ledger in ledgers.largest()) == each[-1]
    assert found.to_json()["largest"] == each[-1]
    assert sum(count for _, count in found.to_json()["histogram"]) == users


def test_the_epsilon_of_a_user_is_that_of_the_rounds_it_took_part_in() -> None:
    ledgers = new(3, unit="example")
    for t, cohort in enumerate([(0, 1), (0,), (0, 1)]):
        ledgers = ledgers.reserve(t, who(*cohort), STEPS).settle(t)
    for user, rounds in ((0, 3), (1, 2)):
        for accountant in ("moments", "rdp"):
            found = ledgers.guarantee(user, 1e-5, accountant)
            assert found.epsilon == epsilon_of([(STEPS, rounds)], 1e-5, accountant, "add/remove")
            assert (found.rounds, found.unit, found.sampling) == (
                rounds,
                "example",
                "DP-SGD at the user, batches p = 0.1, 1 step a round",
            )


@pytest.mark.parametrize("accountant", ["moments", "rdp", "pld"])
def test_a_user_that_was_never_drawn_has_spent_nothing(accountant: str) -> None:
    ledgers = new(3).reserve(0, who(0, 2), GAUSSIAN).settle(0)
    never = ledgers.guarantee(1, 1e-5, accountant)
    assert (never.epsilon, never.rounds, never.private) == (0.0, 0, True)
    assert ledgers.guarantee(0, 1e-5, accountant).epsilon > 0
    assert new().guarantees(1e-5, accountant).worst.epsilon == 0


def test_a_round_without_users_costs_nobody_anything() -> None:
    ledgers = new().reserve(0, who(), GAUSSIAN).settle(0)
    assert ledgers.guarantees(1e-5, "rdp").worst.epsilon == 0
    assert ledgers.reserve(1, who(3), GAUSSIAN).settle(1).guarantee(3, 1e-5, "rdp").rounds == 1


def test_a_resumed_round_with_seeded_noise_is_charged_once() -> None:
    reserved = new().reserve(0, who(1, 3), GAUSSIAN)
    again = reserved.reserve(0, who(3, 1), GAUSSIAN)
    assert counts(again) == counts(reserved)
    assert counts(again.settle(0)) == counts(reserved)
    for other in (
        (0, who(1), GAUSSIAN),
        (0, who(1, 2), GAUSSIAN),
        (0, who(1, 3), STEPS),
        (1, who(1, 3), GAUSSIAN),
    ):
        with pytest.raises(InvalidValue, match="reserved"):
            reserved.reserve(*other)


def test_a_resumed_round_with_system_entropy_charges_both_cohorts() -> None:
    reserved = new(noise_source="system").reserve(0, who(1, 3), GAUSSIAN)
    again = reserved.reserve(0, who(2, 3), GAUSSIAN)
    wanted = [0, 1, 1, 2, 0]
    for ledgers in (again, again.settle(0)):
        assert [spent[GAUSSIAN] for spent in counts(ledgers)] == wanted
    with pytest.raises(InvalidValue, match="round 0 is reserved and must be next, got 1"):
        reserved.reserve(1, who(1), GAUSSIAN)


def test_only_what_was_reserved_is_settled() -> None:
    with pytest.raises(InvalidValue, match="round 0 must be reserved before it is settled"):
        new().settle(0)
    with pytest.raises(InvalidValue, match="round 1 must be reserved before it is settled"):
        new().reserve(0, who(1), GAUSSIAN).settle(1)


@pytest.mark.parametrize(
    ("users", "message"),
    [
        ((-1, 2), "users must be from 0 to 4, got -1"),
        ((2, 5), "users must be from 0 to 4, got 5"),
        ((2, 2), "each of them once"),
    ],
)
def test_a_cohort_of_strangers_or_of_one_user_twice_is_refused(users: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        new().reserve(0, who(*users), GAUSSIAN)


@pytest.mark.parametrize("user", [-1, 5, True])
def test_nobody_but_the_users_can_be_looked_up(user: int) -> None:
    with pytest.raises(InvalidValue, match="user must be"):
        new().guarantee(user, 1e-5, "rdp")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"histories": ((0,), (1,))}, "each be that of some user"),
        ({"histories": ((0,), (0,)), "history_of": np.array([0, 1, 0, 0, 0])}, "must differ"),
        ({"histories": ((0, 1),)}, "a history must count each of 1 events, got 2 counts"),
        ({"histories": ((-1,),)}, "number of charges must be at least 0, got -1"),
        ({"histories": ((True,),)}, "number of charges must be a whole number, got True"),
        ({"history_of": np.array([0, 1])}, "users must have one of 1 histories"),
        ({"history_of": np.array([0, -1])}, "users must have one of 1 histories"),
        ({"history_of": np.array([], dtype=np.int32)}, "number of users must be at least 1, got 0"),
        ({"unit": "person"}, "unit must be one of"),
        ({"adjacency": "near"}, "adjacency must be one of"),
        ({"noise_source": "dice"}, "noise source must be one of"),
        ({"terms": Terms()}, "terms must be of users that protect themselves"),
        ({"terms": Terms(noise_of="user", looks=True)}, "terms must be of users that protect themselves"),
        (
            {"reserved": Reservation(round=0, users=who(7), event=GAUSSIAN)},
            "users must be from 0 to 4, got 7",
        ),
    ],
)
def test_ledgers_that_nobody_can_have_are_refused(changes: dict[str, Any], message: str) -> None:
    sound = replace(new(), events=(GAUSSIAN,), histories=((0,),))
    with pytest.raises(InvalidValue, match=message):
        replace(sound, **changes)


def test_a_release_without_noise_is_the_worst_of_all() -> None:
    ledgers = (
        new().reserve(0, who(0, 1), GAUSSIAN).settle(0).reserve(1, who(1), NonPrivateDpEvent()).settle(1)
    )
    found = ledgers.guarantees(1e-5, "rdp")
    assert not found.worst.private
    assert str(found).startswith("no guarantee: a release was not private")
    assert found.to_json()["largest"] is None
    assert found.to_json()["histogram"][-1] == [None, 1]
    assert found.median == 0
    assert math.isfinite(ledgers.guarantee(0, 1e-5, "rdp").epsilon)


def test_the_distribution_in_words_names_median_and_maximum() -> None:
    ledgers = new(4, adjacency="local")
    for t, cohort in enumerate([(0, 1, 2), (0,)]):
        ledgers = ledgers.reserve(t, who(*cohort), GAUSSIAN).settle(t)
    once, twice = (epsilon_of([(GAUSSIAN, n)], 1e-5, "rdp", "local") for n in (1, 2))
    assert str(ledgers.guarantees(1e-5, "rdp")) == (
        f"ε of a user: median {round_up(once)}, largest {round_up(twice)} (3 different, 4 users)"
    )


def test_the_ledgers_of_a_hundred_thousand_users_stay_small() -> None:
    users, rng = 100_000, np.random.default_rng(0)
    ledgers, drawn = new(users), np.zeros(100_000, dtype=np.int64)
    for t in range(200):
        cohort = np.flatnonzero(rng.random(users) < 0.01)
        drawn[cohort] += 1
        ledgers = ledgers.reserve(t, cohort, GAUSSIAN).settle(t)
    assert [h for (h,) in np.array(ledgers.histories)[ledgers.history_of][:1000].tolist()] == drawn[
        :1000
    ].tolist()
    assert len(ledgers.histories) == len(np.unique(drawn)) < 15
    reserved = ledgers.reserve(200, np.flatnonzero(rng.random(users) < 0.01), GAUSSIAN)
    text = dumps(reserved)
    assert len(text) < 100_000
    assert np.array_equal(loads(text).history_of, reserved.history_of)
    found = ledgers.guarantees(1e-6, "rdp")
    assert found.users.sum() == users
    assert found.worst.rounds == drawn.max()
