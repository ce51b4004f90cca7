from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.rundir.catalogue.conditions import Condition, condition
from fedward.rundir.catalogue.facts import Fact


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("accuracy>0.9", Condition("accuracy", ">", 0.9)),
        ("accuracy <= 1e-3", Condition("accuracy", "<=", 1e-3)),
        ("algorithm.preset = fedavg", Condition("algorithm.preset", "=", "fedavg")),
        ("state!='finished'", Condition("state", "!=", "finished")),
        ("stopped_by_budget=true", Condition("stopped_by_budget", "=", 1.0)),
    ],
)
def test_conditions_are_read_as_typed(text: str, wanted: Condition) -> None:
    assert condition(text) == wanted


@pytest.mark.parametrize(
    "text",
    ["", "accuracy", "accuracy>", ">0.9", "accuracy>high", "==", "a<nan", "a=>1", "a==b", "a=<1", "a<>1"],
)
def test_what_is_no_condition_is_an_error(text: str) -> None:
    with pytest.raises(InvalidValue, match=r"must look like|needs a number"):
        condition(text)


def test_a_comparison_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidValue, match=r"with one of =, !=, <, <=, >, >=, got 'accuracy=>0\.9'"):
        condition("accuracy=>0.9")
    assert condition("statement='=>'") == Condition("statement", "=", "=>")


@given(st.text(max_size=30))
def test_any_text_is_a_condition_or_a_clear_error(text: str) -> None:
    try:
        found = condition(text)
    except InvalidValue:
        return
    assert not found.is_met({})
    equal = found.comparison in ("=", "<=", ">=")
    assert found.is_met({found.key: found.value}) == equal
    # A word is never compared with a number, not even to find that they differ.
    assert not found.is_met({found.key: 0.5 if isinstance(found.value, str) else "a word"})


def test_numbers_and_truth_values_are_compared_as_numbers() -> None:
    known: dict[str, Fact] = {"rounds": 3, "stopped_by_budget": True, "preset": "krum"}
    assert [condition(f"rounds{sign}3").is_met(known) for sign in ("=", "!=", "<", "<=", ">", ">=")] == [
        *(True, False, False, True, False, True)
    ]
    assert condition("stopped_by_budget=true").is_met(known)
    assert condition("preset!=fedavg").is_met(known)
    assert not condition("preset=3").is_met(known)
