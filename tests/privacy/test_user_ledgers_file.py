from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
import pytest
from dp_accounting import DpEvent, GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.strict_json import digest
from fedward.base.validate import InvalidValue
from fedward.privacy.terms import ExactAttackers, Terms
from fedward.privacy.user_ledgers import Reservation, UserLedgers
from fedward.privacy.user_ledgers_file import dumps, loads

STEPS = SelfComposedDpEvent(PoissonSampledDpEvent(0.1, GaussianDpEvent(1.5)), 26)
TERMS = [
    Terms(noise_of="user"),
    Terms(noise_of="user", public_sizes=True, deviating=True, handed_out=3),
    Terms(noise_of="user", staged=ExactAttackers(each=2, attackers=4)),
]
EVENTS: list[DpEvent] = [GaussianDpEvent(4.0), STEPS]


def charged(
    users: int, rounds: list[tuple[list[int], DpEvent]], open_round: bool, **about: Any
) -> UserLedgers:
    ledgers = UserLedgers.new(users, **({"unit": "user", "adjacency": "add/remove"} | about))
    for t, (cohort, event) in enumerate(rounds):
        ledgers = ledgers.reserve(t, np.array(cohort, dtype=np.int64), event)
        if not open_round or t + 1 < len(rounds):
            ledgers = ledgers.settle(t)
    return ledgers


LEDGERS = charged(11, [([0, 10], STEPS), ([3], EVENTS[0]), ([2, 3, 9], STEPS)], open_round=True)
TEXT = dumps(LEDGERS)


def same(one: UserLedgers, other: UserLedgers) -> bool:
    if (one.reserved is None) != (other.reserved is None):
        return False
    return (
        one.about() == other.about()
        and (one.events, one.histories) == (other.events, other.histories)
        and np.array_equal(one.history_of, other.history_of)
        and one.history_of.dtype == other.history_of.dtype
        and (one.reserved is None or other.reserved is None or one.reserved.same(other.reserved))
    )


@st.composite
def ledgers(draw: st.DrawFn) -> UserLedgers:
    users = draw(st.integers(1, 20))
    cohorts = st.lists(st.integers(0, users - 1), unique=True)
    return charged(
        users,
        draw(st.lists(st.tuples(cohorts, st.sampled_from(EVENTS)), max_size=5)),
        draw(st.booleans()),
        unit=draw(st.sampled_from(["user", "example"])),
        adjacency=draw(st.sampled_from(["add/remove", "local"])),
        terms=draw(st.sampled_from(TERMS)),
        noise_source=draw(st.sampled_from(["seeded", "system"])),
    )


@given(ledgers())
def test_ledgers_come_back_from_their_text(made: UserLedgers) -> None:
    text = dumps(made)
    assert same(loads(text), made)
    assert dumps(loads(text)) == text


def test_rounds_reserved_ahead_come_back_and_count_as_spent() -> None:
    rounds = [
        Reservation(round=t, users=np.array(users, dtype=np.int64), event=event)
        for t, (users, event) in enumerate([([0, 3], EVENTS[0]), ([1], STEPS), ([], STEPS)])
    ]
    made = UserLedgers.new(5, unit="user", adjacency="local").reserve_ahead(rounds)
    read = loads(dumps(made))
    assert dumps(read) == dumps(made)
    one_by_one = charged(
        5, [([0, 3], EVENTS[0]), ([1], STEPS), ([], STEPS)], open_round=False, adjacency="local"
    )
    assert dumps(read.settled()) == dumps(one_by_one)
    assert [read.ledger(user) for user in range(5)] == [one_by_one.ledger(user) for user in range(5)]
    assert [each.round for each in read.settle(0).reserve(1, np.array([1]), STEPS).later] == [2]
    with pytest.raises(InvalidValue, match="with the users and the events reserved for them"):
        read.reserve_ahead(rounds[1:])
    with pytest.raises(InvalidValue, match="seeded noise alone may be reserved ahead"):
        UserLedgers.new(5, unit="user", adjacency="local", noise_source="system").reserve_ahead(rounds)


def test_more_histories_than_a_byte_can_number_come_back() -> None:
    users = 300
    made = UserLedgers(
        unit="user",
        adjacency="local",
        terms=Terms(noise_of="user"),
        noise_source="seeded",
        events=(EVENTS[0],),
        histories=tuple((count,) for count in range(users)),
        history_of=np.arange(users, dtype=np.int32)[::-1].copy(),
    )
    assert same(loads(dumps(made)), made)


def test_the_text_names_its_format() -> None:
    content = json.loads(TEXT)
    assert (content["format"], content["version"], content["users"]) == ("fedward user ledgers", 2, 11)
    assert content["reserved"]["round"] == 2


def signed(content: dict[str, Any]) -> str:
    """The text of changed content with a digest that fits, as a forger would write it."""
    body = {name: value for name, value in content.items() if name != "digest"}
    return json.dumps({**body, "digest": digest(body)})


def changed(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(TEXT)
    place: Any = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return content


def packed(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw)).decode()


def leaves(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    if isinstance(content, dict | list):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        return [leaf for key, value in items for leaf in leaves(value, (*path, key))]
    return [(path, content)]


@pytest.mark.parametrize(("path", "value"), leaves(json.loads(TEXT)), ids=str)
def test_any_value_that_was_changed_is_noticed(path: tuple[Any, ...], value: Any) -> None:
    other = 1 if value is None else f"{value}x" if isinstance(value, str) else value + 1
    with pytest.raises(InvalidValue):
        loads(json.dumps(changed(path, other)))


@pytest.mark.parametrize("length", range(0, len(TEXT) - 1, 53))
def test_a_truncated_text_is_refused(length: int) -> None:
    with pytest.raises(InvalidValue, match="user ledgers file"):
        loads(TEXT[:length])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "{",
        "[" * 100_000,
        TEXT + "x",
        TEXT.replace("1.5", "NaN"),
        TEXT.replace("4.0", "1e999"),
    ],
    ids=lambda text: text[:8],
)
def test_malformed_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="user ledgers file"):
        loads(text)


def test_a_missing_or_unknown_key_is_named() -> None:
    for name in json.loads(TEXT):
        content = json.loads(TEXT)
        del content[name]
        with pytest.raises(InvalidValue, match=f"{name}|format|version"):
            loads(signed(content) if name != "digest" else json.dumps(content))
    with pytest.raises(InvalidValue, match="'extra'"):
        loads(signed(changed(("extra",), 1)))


PLACES = np.array([0, 1, 2], dtype=np.uint8).repeat([8, 2, 1])
TOO_MANY_BITS = packed(np.packbits(np.ones(16, dtype=bool)).tobytes())
STREAM = zlib.compress(PLACES.tobytes())


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "other", "must be of the format 'fedward user ledgers'"),
        (("version",), 3, "must be of version 2 or 1, got 3"),
        (("version",), True, "must be of version 2 or 1, got True"),
        (("events",), {}, "events must be a list"),
        (("events", 0, "count"), 0, "count must be at least 1"),
        (("events", 1, "noise_multiplier"), -1.0, "noise multiplier must be positive"),
        (("events", 1, "type"), "LaplaceDpEvent", "event type must be one of"),
        (("histories",), 3, "histories must be a list"),
        (("histories", 0), 3, "a history must be a list"),
        (("histories", 1, 0), -1, "number of charges must be at least 0, got -1"),
        (("histories", 1, 0), 0.5, "number of charges must be a whole number, got 0.5"),
        (("histories", 1, 0), [0], "number of charges must be a whole number"),
        (("histories", 1), [0, 0], "histories must differ"),
        (("users",), 12, "packed users must be as many as there are"),
        (("users",), 10, "packed users must be as many as there are"),
        (("users",), 0, "number of users must be at least 1, got 0"),
        (("users",), -1, "number of users must be at least 1, got -1"),
        (("users",), 1.0, "number of users must be a whole number"),
        (("users",), 10**30, "packed text about at most 100,000,000 of them"),
        (("history_of",), 7, "packed text"),
        (("history_of",), "%%%", "packed users cannot be read"),
        (("history_of",), "AAAA", "packed users cannot be read"),
        (("history_of",), packed(bytes(10**6)), "packed users must be as many as there are"),
        (("history_of",), packed(bytes([7] * 11)), "users must have one of 3 histories"),
        (("history_of",), packed(bytes(11)), "each be that of some user"),
        (
            ("history_of",),
            base64.b64encode(STREAM + b"more").decode(),
            "packed users must be as many as there are, and nothing else",
        ),
        (("history_of",), base64.b64encode(STREAM[:-4]).decode(), "packed users must be as many"),
        (("reserved",), [], "reservation must be an object"),
        (("reserved", "round"), -1, "round must be at least 0"),
        (("reserved", "round"), "2", "round must be a whole number"),
        (("reserved", "users"), TOO_MANY_BITS, "reserved users must be among 11, got others"),
        (("reserved", "users"), packed(bytes(3)), "packed users must be as many as there are"),
        (("reserved", "extra"), 1, "reservation must have no other keys"),
        (("unit",), "person", "unit must be one of user, example"),
        (("noise_source",), None, "noise source must be one of"),
        (("terms",), "noise at the user", "terms must be an object"),
        (("terms", "noise_of"), "server", "terms must be of users that protect themselves"),
        (("terms", "deviating"), "no", "deviating must be true or false"),
    ],
)
def test_what_a_forger_got_wrong_is_said(path: tuple[Any, ...], value: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        loads(signed(changed(path, value)))


def test_the_forged_places_above_are_wrong_only_where_they_say_so() -> None:
    assert same(loads(signed(json.loads(TEXT))), LEDGERS)
    assert loads(signed(changed(("history_of",), packed(PLACES.tobytes())))).num_users == 11
