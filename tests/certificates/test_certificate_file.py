"""Certificates as files: read back, checked from the stored scores, forged and damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from certificates.small_certificate import bound, replicas, setting
from fedward.base.strict_json import digest
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Certificate, certify, draw_of_setting
from fedward.certificates.certificate_file import dumps, loads
from fedward.certificates.checking import check
from fedward.certificates.confidence import Confidence
from fedward.certificates.statements import statements


@pytest.fixture(scope="module")
def text(made: Certificate) -> str:
    return dumps(made, "scores.npz")


@pytest.fixture(scope="module")
def stored() -> bytes:
    return bound().to_bytes()


def forged(text: str, edit: Callable[[Any], None]) -> str:
    """The file after an edit, with a digest that fits again."""
    content = json.loads(text)
    del content["digest"]
    edit(content)
    return json.dumps({**content, "digest": digest(content)})


def test_the_file_gives_the_certificate_back(made: Certificate, text: str) -> None:
    found = loads(text)
    assert (found.file, found.says) == ("scores.npz", statements(made))
    assert found.certificate.setting == made.setting
    assert found.certificate.releasing_all == made.releasing_all
    assert dumps(found.certificate, "scores.npz") == text


def test_the_file_can_be_checked_from_the_stored_scores_alone(text: str, stored: bytes) -> None:
    found = check(loads(text), stored)
    assert (found.problems, found.notes) == ((), ())


def edit_k(by: int) -> Callable[[Any], None]:
    def edit(content: Any) -> None:
        content["attacks"][0]["k"][1] += by

    return edit


DRAWN = "and what is claimed here has the draw"
FORGERIES: list[tuple[str, Callable[[Any], object], str]] = [
    ("k", edit_k(1), "inject: k claims more than the scores show, for example 1"),
    ("lower", lambda c: c["predictions"]["lower"].__setitem__(0, 0.999), "lower claims more"),
    ("upper", lambda c: c["predictions"]["upper"].__setitem__(0, 0.0), "upper claims more"),
    ("top", lambda c: c["predictions"]["top"].__setitem__(0, 2), "top claims more"),
    ("predicts", lambda c: c["predictions"]["predicts"].__setitem__(3, 0.9), "predicts claims more"),
    (
        "accuracy",
        lambda c: c["attacks"][1]["accuracy"].__setitem__(0, 1.0),
        "compromise: accuracy claims more",
    ),
    ("more k", lambda c: c["attacks"][1]["accuracy"].extend([0.1] * 9), "compromise: accuracy claims more"),
    ("epsilon", lambda c: c["releasing_all"].__setitem__("epsilon", 0.08), "ε of releasing all trainings is"),
    ("rounds", lambda c: c["releasing_all"].__setitem__("rounds", 3), "describes something else"),
    ("most", lambda c: c["attacks"][0].__setitem__("most", 9999), "the last k tried is 100000, not 9999"),
    ("threat", lambda c: c["attacks"][1].__setitem__("threat", "present"), "not the threats of its setting"),
    ("words", lambda c: c["says"].__setitem__(0, "All is well."), "its words are not those of its numbers"),
    ("error", lambda c: c["setting"]["confidence"].__setitem__("error", 1e-9), DRAWN),
    ("looks", lambda c: c["setting"]["confidence"].__setitem__("looks", [50]), DRAWN),
    ("attendance", lambda c: c["setting"].__setitem__("attendance", "every-round"), DRAWN),
    ("fewer threats", lambda c: (c["setting"]["threats"].pop(), c["attacks"].pop()), DRAWN),
    ("another draw", lambda c: c["stored"].__setitem__("draw", "0a" * 16), DRAWN),
    ("no draw", lambda c: c["stored"].__setitem__("draw", ""), "not none"),
    ("seed", lambda c: c["stored"].__setitem__("seed", 8), "seed is 7, not 8"),
    ("scores", lambda c: c["stored"].__setitem__("digest", "00"), "the stored scores were changed"),
]


@pytest.mark.parametrize(("edit", "why"), [f[1:] for f in FORGERIES], ids=[f[0] for f in FORGERIES])
def test_a_forged_claim_does_not_hold(text: str, stored: bytes, edit: Any, why: str) -> None:
    found = check(loads(forged(text, edit)), stored)
    assert not found.holds
    assert why in "; ".join(found.problems)


def test_a_claim_of_less_holds_and_is_noted(text: str, stored: bytes) -> None:
    found = check(loads(forged(text, edit_k(-1))), stored)
    assert found.holds
    assert "inject: k claims less than the scores show, for example 1" in found.notes[0]


def test_other_code_is_noted(text: str, stored: bytes) -> None:
    found = check(loads(forged(text, lambda c: c["code"].__setitem__("source", "0" * 32))), stored)
    assert found.holds
    assert "made by other code" in found.notes[0]


def test_changed_scores_are_refused(text: str, stored: bytes) -> None:
    scores = bound().scores.copy()
    scores[3, 2] = scores[3, 2][::-1]
    changed = check(loads(text), bound(scores=scores).to_bytes())
    assert "the stored scores were changed" in changed.problems[0]
    assert "the stored scores are refused" in check(loads(text), stored[:-40]).problems[0]
    assert not check(loads(text), bound(labels=None).to_bytes()).holds


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: c["attacks"][0]["k"].pop(), "k must be given for 4 examples, got 3"),
        (lambda c: c["attacks"][0]["k"].__setitem__(0, 1.5), "k must hold numbers in range, got 1.5"),
        (
            lambda c: c["predictions"]["lower"].__setitem__(0, 1.5),
            "lower must hold numbers in range, got 1.5",
        ),
        (
            lambda c: c["predictions"]["lower"].__setitem__(0, True),
            "lower must hold numbers in range, got True",
        ),
        (lambda c: c["stored"].__setitem__("file", "../secret.npz"), "name of a file beside the certificate"),
        (lambda c: c.pop("says"), "must have the key 'says'"),
        (lambda c: c.__setitem__("more", 1), "no other keys"),
        (lambda c: c["setting"].__setitem__("ledger", {}), "ledger file"),
        (lambda c: c["setting"].__setitem__("attendance", "chosen"), "must be certified with q = 1"),
        (lambda c: c["code"].__setitem__("fedward", 1), "version of fedward must be text"),
        (lambda c: c["attacks"].__setitem__(0, 3), "attack must be an object"),
        (lambda c: c.__setitem__("version", 4), "must be of version 1, 2 or 3, got 4"),
        (lambda c: c.__setitem__("format", "fedward ledger"), "of the format 'fedward certificate'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(text: str, edit: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        loads(forged(text, edit))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda t: t.replace('"seed": 7', '"seed": 8', 1), "damaged or changed"),
        (lambda t: t[:-100], "must be JSON text"),
        (lambda t: t.replace('"seed": 7', '"seed": NaN'), "must hold finite numbers, got NaN"),
        (lambda t: t.replace('"seed": 7', '"seed": 7, "seed": 7'), "every key once"),
        (lambda t: "", "must be JSON text"),
        (lambda t: "[]", "of the format"),
        (lambda t: "[" * 100_000, "must be JSON text"),
    ],
)
def test_a_damaged_file_is_refused(text: str, damage: Callable[[str], str], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        loads(damage(text))


def as_version_1(text: str) -> str:
    """The file as commit fc34a4a wrote it."""

    def edit(content: Any) -> None:
        content["version"] = 1
        del content["stored"]["draw"]

    return forged(text, edit)


def test_a_certificate_of_version_1_is_checked_and_its_replicas_are_bound_to_nothing() -> None:
    text = as_version_1(dumps(certify(setting(), replicas()), "scores.npz"))
    found = check(loads(text), replicas().to_bytes())
    assert found.holds
    words, bound = found.notes
    assert "its words were not compared" in words
    assert "its replicas are not bound to what is claimed" in bound
    # As it said then.
    assert "The number of replicas, 100, was fixed beforehand. Bounds: betting" in " ".join(loads(text).says)


def test_a_draw_is_not_taken_away_by_an_older_version(text: str, stored: bytes) -> None:
    """Its words name the draw, and its scores know theirs."""
    found = check(loads(as_version_1(text)), stored)
    assert not found.holds
    assert "draw is" in found.problems[0]
    with pytest.raises(InvalidValue, match="must have the key 'draw'"):
        loads(forged(text, lambda c: c["stored"].pop("draw")))
    with pytest.raises(InvalidValue, match="no other keys"):
        loads(forged(text, lambda c: c.__setitem__("version", 1)))


def test_the_words_name_the_draw_and_do_not_call_a_free_number_fixed(made: Certificate) -> None:
    said = " ".join(statements(made))
    assert (
        "The number of replicas, 100, was fixed beforehand. They are drawn for what is claimed here " in said
    )
    assert f"(draw {made.draw}): other claims draw others." in said
    rule = Confidence(looks=(100,), error=0.05, method="betting_sequence")
    free = setting(confidence=rule)
    drawn = replicas(draw=draw_of_setting(free, "confidence"))
    said = " ".join(statements(certify(free, drawn)))
    assert "fixed beforehand" not in said
    assert "The bounds hold at every number of replicas at once; now there are 100." in said


def test_a_certificate_of_a_version_that_tried_fewer_k_holds(text: str, stored: bytes) -> None:
    found = check(loads(forged(text, lambda c: c["attacks"][0].__setitem__("most", 4096))), stored)
    assert found.holds, found.problems
