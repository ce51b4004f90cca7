from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest

from fedward.base.validate import InvalidType, InvalidValue
from fedward.privacy import ACCOUNTANTS, Guarantee
from fedward.privacy.guarantee import ACCOUNTANT_LABELS

GUARANTEE = Guarantee(
    epsilon=1.23456789,
    delta=1e-5,
    unit="user",
    adjacency="add/remove",
    sampling="Poisson q = 0.1",
    accountant="pld",
    noise_source="system",
    rounds=3,
)
NONE = replace(GUARANTEE, epsilon=math.inf, reason="Krum has no proof")


def test_it_states_everything_in_one_line() -> None:
    assert str(GUARANTEE) == (
        "(ε = 1.2346, δ = 1e-05) user level, add/remove, Poisson q = 0.1, 3 rounds, pld accountant, "
        "system entropy"
    )
    assert "1 round," in str(replace(GUARANTEE, rounds=1))


def test_seeded_noise_is_marked_as_research() -> None:
    assert str(replace(GUARANTEE, noise_source="seeded")).endswith("seeded noise: research only")


def test_the_papers_accountant_is_labelled_as_theirs() -> None:
    assert "papers' moments accountant" in str(replace(GUARANTEE, accountant="moments"))


def test_a_caveat_stands_at_the_end() -> None:
    assert str(replace(GUARANTEE, caveat="mind the gap")).endswith("; mind the gap")


def test_where_there_is_no_guarantee_there_is_no_number() -> None:
    assert str(NONE) == "no guarantee: Krum has no proof"
    assert not re.search(r"\d", str(NONE))
    assert not NONE.private


def test_a_tiny_epsilon_is_not_shown_as_zero() -> None:
    assert "ε < 0.0001" in str(replace(GUARANTEE, epsilon=1e-6))
    assert "ε = 0.0000" in str(replace(GUARANTEE, epsilon=0.0))


def test_every_accountant_has_a_label() -> None:
    assert ACCOUNTANT_LABELS.keys() == ACCOUNTANTS.keys()


@pytest.mark.parametrize(
    "guarantee", [GUARANTEE, NONE, replace(GUARANTEE, caveat="c", unit="example", epsilon=0.0)]
)
def test_it_comes_back_from_json(guarantee: Guarantee) -> None:
    text = json.dumps(guarantee.to_json(), allow_nan=False)
    assert Guarantee.from_json(json.loads(text)) == guarantee


def test_json_has_null_for_an_infinite_epsilon() -> None:
    assert NONE.to_json()["epsilon"] is None
    assert NONE.to_json()["private"] is False
    assert GUARANTEE.to_json()["private"] is True


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": math.nan},
        {"epsilon": -0.1},
        {"epsilon": math.inf},
        {"epsilon": "1"},
        {"epsilon": True},
        {"reason": "no proof"},
        {"reason": 3},
        {"delta": 0.0},
        {"delta": 1.0},
        {"delta": math.nan},
        {"delta": -1e-5},
        {"unit": "person"},
        {"adjacency": "add-remove"},
        {"accountant": "pdl"},
        {"noise_source": "seed"},
        {"rounds": -1},
        {"rounds": 1.5},
        {"rounds": True},
        {"sampling": None},
        {"sampling": "two\nlines"},
        {"caveat": "two\nlines"},
    ],
)
def test_bad_fields_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((InvalidValue, InvalidType)):
        replace(GUARANTEE, **changes)


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"private": False},
        {"private": 1},
        {"epsilon": None},
        {"epsilon": -1.0},
        {"rounds": "3"},
    ],
)
def test_altered_json_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((InvalidValue, InvalidType)):
        Guarantee.from_json(GUARANTEE.to_json() | change)


def test_incomplete_json_is_refused() -> None:
    for name in GUARANTEE.to_json():
        content = GUARANTEE.to_json()
        del content[name]
        with pytest.raises(InvalidValue, match="must have the keys"):
            Guarantee.from_json(content)
    with pytest.raises(InvalidType):
        Guarantee.from_json([])


def test_an_epsilon_beyond_all_reason_is_printed_in_a_few_figures() -> None:
    assert str(replace(GUARANTEE, epsilon=4.29e25)).startswith("(ε = 4.29e+25, ")
    assert str(replace(GUARANTEE, epsilon=999_999.5)).startswith("(ε = 999999.5000, ")
