from __future__ import annotations

import json
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
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.strict_json import digest
from fedward.base.validate import InvalidValue
from fedward.privacy import Guarantee, Ledger
from fedward.privacy.ledger_file import dumps, loads, verify
from fedward.privacy.terms import ExactAttackers, Terms

TERMS = [
    Terms(),
    Terms(divisor=50.0, declared=True),
    Terms(noise_of="looks", staged=ExactAttackers(each=2, attackers=4), handed_out=7),
    Terms(noise_of="cohort", cohort=20.0, deviating=True),
]

EVENTS = [PoissonSampledDpEvent(0.1, GaussianDpEvent(z)) for z in (1.0, 2.0, 3.0)]
EMPTY = Ledger(unit="user", adjacency="add/remove", noise_source="system")
LEDGER = EMPTY.charged(EVENTS[2], 3).reserve(3, EVENTS[1]).reserve(3, EVENTS[1])
CLAIMS = [LEDGER.guarantee(0.0029, accountant) for accountant in ("moments", "rdp", "pld")]
TEXT = dumps(LEDGER, CLAIMS)


def signed(content: dict[str, Any]) -> str:
    """The text of changed content with a digest that fits, as a forger would write it."""
    body = {name: value for name, value in content.items() if name != "digest"}
    return json.dumps({**body, "digest": digest(body)})


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    ledger = replace(
        EMPTY,
        unit=draw(st.sampled_from(["user", "example"])),
        noise_source=draw(st.sampled_from(["seeded", "system"])),
        terms=draw(st.sampled_from(TERMS)),
        reason=draw(st.sampled_from(["", "Krum has no proof"])),
    )
    life: list[tuple[DpEvent, int]] = draw(
        st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 2)), max_size=6)
    )
    for t, (event, kills) in enumerate(life):
        for _ in range(kills + 1):
            ledger = ledger.reserve(t, event)
        ledger = ledger.settle(t)
    ahead = draw(st.integers(0, 3)) if ledger.noise_source == "seeded" else draw(st.integers(0, 1))
    if ahead == 1:
        return ledger.reserve(len(life), EVENTS[0])
    return ledger.reserve_ahead([draw(st.sampled_from(EVENTS)) for _ in range(ahead)])


@given(ledgers())
def test_a_ledger_comes_back_from_its_text(ledger: Ledger) -> None:
    claims = (ledger.guarantee(1e-5, "moments"),)
    text = dumps(ledger, claims)
    assert loads(text) == (ledger, claims)
    assert dumps(*loads(text)) == text
    assert [check.holds for check in verify(text)] == [True]


def test_the_text_names_its_format_and_the_versions_that_wrote_it() -> None:
    content = json.loads(TEXT)
    assert (content["format"], content["version"]) == ("fedward ledger", 2)
    assert content["fedward"]
    assert content["dp_accounting"].startswith("0.6")


def test_what_was_computed_holds_when_computed_once_more() -> None:
    checks = verify(TEXT)
    assert [check.claimed for check in checks] == CLAIMS
    assert [check.holds for check in checks] == [True] * 3
    assert [check.recomputed for check in checks] == [claim.epsilon for claim in CLAIMS]
    assert [check.problem for check in checks] == [""] * 3


def test_no_guarantee_is_a_claim_like_any_other() -> None:
    ledger = EMPTY.charged(NonPrivateDpEvent(), 2)
    assert [check.holds for check in verify(dumps(ledger, [ledger.guarantee(1e-5, "pld")]))] == [True]
    private = EMPTY.charged(EVENTS[0], 2)
    false = replace(private.guarantee(1e-5, "moments"), epsilon=1.0)
    assert [check.holds for check in verify(dumps(ledger, [false]))] == [False]


@pytest.mark.parametrize(
    ("factor", "problem"),
    [
        (0.5, "claims less than was spent"),
        (1 - 2e-6, "claims less than was spent"),
        (1 + 2e-6, "not reproduced: claims more than was spent"),
        (2.0, "not reproduced: claims more than was spent"),
    ],
)
def test_a_claim_of_less_or_more_does_not_hold(factor: float, problem: str) -> None:
    claim = LEDGER.guarantee(0.0029, "moments")
    (check,) = verify(dumps(LEDGER, [replace(claim, epsilon=claim.epsilon * factor)]))
    assert (check.holds, check.problem) == (False, problem)
    assert check.recomputed == claim.epsilon


@pytest.mark.parametrize(
    "changes",
    [
        {"unit": "example"},
        {"adjacency": "local"},
        {"sampling": "everyone"},
        {"terms": Terms(deviating=True)},
        {"sampled": False},
        {"noise_source": "seeded"},
        {"rounds": 2},
        {"caveat": ""},
    ],
)
def test_a_claim_about_another_training_does_not_hold(changes: dict[str, Any]) -> None:
    (check,) = verify(dumps(LEDGER, [replace(CLAIMS[0], **changes)]))
    assert (check.holds, check.problem) == (False, "describes another training than the ledger's")


def test_a_claim_by_an_accountant_that_refuses_does_not_hold() -> None:
    ledger = replace(EMPTY, adjacency="replace-one").charged(
        SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(1.5)), 3
    )
    claim: Guarantee = replace(ledger.guarantee(1e-3, "moments"), accountant="pld", caveat="")
    (check,) = verify(dumps(ledger, [claim]))
    assert not check.holds


def leaves(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    if isinstance(content, dict | list):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        return [leaf for key, value in items for leaf in leaves(value, (*path, key))]
    return [(path, content)]


def changed(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(content))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


LEAVES = leaves(json.loads(TEXT))


@pytest.mark.parametrize(("path", "value"), LEAVES, ids=lambda x: str(x))
def test_any_value_that_was_changed_is_noticed(path: tuple[Any, ...], value: Any) -> None:
    others: dict[type, Callable[[], Any]] = {
        bool: lambda: not value,
        int: lambda: value + 1,
        float: lambda: value * 1.01,
        str: lambda: f"{value}x",
        type(None): lambda: 1,
    }
    with pytest.raises(InvalidValue):
        loads(json.dumps(changed(json.loads(TEXT), path, others[type(value)]())))


SPENT = [
    (path, value)
    for path, value in LEAVES
    if path[0] in ("entries", "reserved") and isinstance(value, int | float)
]


@pytest.mark.parametrize(("path", "value"), SPENT, ids=lambda x: str(x))
@pytest.mark.parametrize("factor", [0.5, 2])
def test_a_changed_event_or_count_is_caught_even_with_a_forged_digest(
    path: tuple[Any, ...], value: Any, factor: float
) -> None:
    if isinstance(value, bool):
        other: Any = not value
    else:
        other = value * factor if isinstance(value, float) else int(value * factor) + (value == 0)
    if other == value:
        other = value + 1
    forged = signed(changed(json.loads(dumps(LEDGER, CLAIMS[:1])), path, other))
    try:
        checks = verify(forged)
    except InvalidValue:
        return
    assert not any(check.holds for check in checks)


@pytest.mark.parametrize("length", range(0, len(TEXT) - 1, 61))
def test_a_truncated_text_is_refused(length: int) -> None:
    with pytest.raises(InvalidValue, match="ledger file"):
        loads(TEXT[:length])


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "other", "must be of the format 'fedward ledger'"),
        (("version",), 3, "must be of version 2 or 1, got 3"),
        (("version",), True, "must be of version 2 or 1, got True"),
        (("version",), 1.0, "must be of version 2 or 1, got 1.0"),
        (("entries", 0, "count"), -3, "count must be at least 1, got -3"),
        (("entries", 0, "count"), 1.5, "count must be a whole number, got 1.5"),
        (("entries", 0, "count"), 10**400, "count must be at most"),
        (("entries", 0, "count"), 2, "entries must follow each other"),
        (("entries", 0, "first_round"), 1, "entries must follow each other"),
        (("entries", 0, "extra"), 1, "entry must have no other keys"),
        (("extra",), 1, "ledger file must have no other keys"),
        (("entries", 0, "event", "sampling_probability"), 1.5, "sampling rate must be above 0 and at most 1"),
        (
            ("entries", 0, "event", "event", "noise_multiplier"),
            0,
            "noise multiplier must be positive and finite",
        ),
        (("entries", 0, "event", "event", "type"), "LaplaceDpEvent", "event type must be one of"),
        (("entries",), {}, "entries must be a list"),
        (("claims",), None, "claims must be a list"),
        (("claims", 0, "epsilon"), -1.0, "epsilon must be at least 0"),
        (("reserved", "first_round"), 7, "one reservation of round 3 may be open"),
        (("fedward",), 1, "version of fedward must be text"),
        (("unit",), "person", "unit must be one of user, example"),
    ],
)
def test_what_is_wrong_is_said(path: tuple[Any, ...], value: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        loads(signed(changed(json.loads(TEXT), path, value)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "{",
        "3",
        "[" * 100_000,
        TEXT.replace("0.1", "NaN"),
        TEXT.replace("0.1", "Infinity"),
        TEXT.replace("0.1", "1e999"),
        TEXT.replace('"count": 3', '"count": 3, "count": 3'),
        TEXT.replace('"unit"', '"version": 2, "unit"'),
        TEXT.replace('"count": 3', '"count": ' + "9" * 5000),
        TEXT + "x",
    ],
)
def test_malformed_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="ledger file"):
        loads(text)


def test_a_missing_key_is_named() -> None:
    for name in json.loads(TEXT):
        content = json.loads(TEXT)
        del content[name]
        with pytest.raises(InvalidValue, match="ledger file"):
            loads(json.dumps(content))


def test_other_layout_of_the_same_content_is_the_same_ledger() -> None:
    assert loads(json.dumps(json.loads(TEXT), sort_keys=True)) == (LEDGER, tuple(CLAIMS))
