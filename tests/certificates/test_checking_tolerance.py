"""A check lets rounding pass, and nothing that is larger."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from certificates.small_certificate import bound
from fedward.base.strict_json import digest
from fedward.certificates.certificate import Certificate
from fedward.certificates.certificate_file import dumps, loads
from fedward.certificates.checking import Check, check

ROUNDING, TOO_MUCH = 1e-12, 1e-6


def add(values: list[float], place: int, by: float) -> None:
    values[place] += by


# Each claims more by so much.
CLAIMS: dict[str, tuple[Callable[[Any, float], None], str]] = {
    "lower": (lambda c, by: add(c["predictions"]["lower"], 1, by), "lower claims more"),
    "upper": (lambda c, by: add(c["predictions"]["upper"], 1, -by), "upper claims more"),
    "predicts": (lambda c, by: add(c["predictions"]["predicts"], 1, by), "predicts claims more"),
    "attacked": (lambda c, by: add(c["attacks"][0]["predicts"], 1, by), "inject: predicts claims more"),
    "last": (lambda c, by: add(c["attacks"][1]["predicts"], 0, by), "compromise: predicts claims more"),
    "accuracy": (lambda c, by: add(c["attacks"][0]["accuracy"], 0, by), "inject: accuracy claims more"),
    "epsilon": (
        lambda c, by: c["releasing_all"].update(epsilon=c["releasing_all"]["epsilon"] * (1 - by)),
        "ε of releasing all trainings is",
    ),
}
# And each of these less.
MODEST: dict[str, tuple[Callable[[Any, float], None], str]] = {
    "lower": (lambda c, by: add(c["predictions"]["lower"], 1, -by), "lower claims less"),
    "upper": (lambda c, by: add(c["predictions"]["upper"], 1, by), "upper claims less"),
    "accuracy": (lambda c, by: add(c["attacks"][0]["accuracy"], 0, -by), "inject: accuracy claims less"),
    "epsilon": (
        lambda c, by: c["releasing_all"].update(epsilon=c["releasing_all"]["epsilon"] * (1 + by)),
        "states a larger ε of releasing all trainings",
    ),
}


def checked(made: Certificate, edit: Callable[[Any, float], None], by: float) -> Check:
    """The check of a certificate after an edit, with a digest that fits again."""
    content = json.loads(dumps(made, "scores.npz"))
    del content["digest"]
    edit(content, by)
    return check(loads(json.dumps({**content, "digest": digest(content)})), bound().to_bytes())


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_that_is_a_millionth_too_large_does_not_hold(made: Certificate, name: str) -> None:
    edit, why = CLAIMS[name]
    assert why in "; ".join(checked(made, edit, TOO_MUCH).problems)


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_that_is_too_large_by_rounding_alone_holds(made: Certificate, name: str) -> None:
    found = checked(made, CLAIMS[name][0], ROUNDING)
    assert (found.problems, found.notes) == ((), ())


@pytest.mark.parametrize("name", MODEST)
def test_a_claim_that_is_a_millionth_too_small_is_noted(made: Certificate, name: str) -> None:
    edit, why = MODEST[name]
    found = checked(made, edit, TOO_MUCH)
    assert why in "; ".join(found.notes)
    assert checked(made, edit, ROUNDING).notes == ()


@pytest.mark.parametrize("attack", [0, 1])
def test_one_attacker_more_for_any_example_does_not_hold(made: Certificate, attack: int) -> None:
    for example in range(made.examples):
        found = checked(made, lambda c, by: add(c["attacks"][attack]["k"], example, 1), 0.0)  # noqa: B023
        assert f"k claims more than the scores show, for example {example}" in "; ".join(found.problems)
