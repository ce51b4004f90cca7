"""Ledgers of version 1: their sentence becomes fields, and must be that of their events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dp_accounting import DpEvent, GaussianDpEvent, PoissonSampledDpEvent, SampledWithoutReplacementDpEvent

from fedward.base.strict_json import digest
from fedward.base.validate import InvalidValue
from fedward.privacy import Guarantee, Ledger
from fedward.privacy.ledger_file import dumps, loads
from fedward.privacy.older_words import terms_of
from fedward.privacy.terms import ExactAttackers, Terms

POISSON = PoissonSampledDpEvent(0.5, GaussianDpEvent(2.0))
STAGED = "staged with exactly 2 of 4 attackers in every cohort (outside the sampling of certificates)"


def version_1(words: str, event: DpEvent = POISSON, adjacency: str = "add/remove", reason: str = "") -> str:
    """A ledger file as version 1 wrote it, with a digest that fits."""
    ledger = Ledger(unit="user", adjacency=adjacency, noise_source="seeded")  # type: ignore[arg-type]
    body: dict[str, Any] = json.loads(dumps(ledger.charged(event, 3)))
    for name in ("terms", "digest"):
        del body[name]
    body |= {"version": 1, "sampling": words, "reason": reason}
    return json.dumps({**body, "digest": digest(body)})


@pytest.mark.parametrize(
    ("words", "terms"),
    [
        ("Poisson sampling q = 0.1", Terms()),
        ("fixed-size sampling m = 20", Terms()),
        ("everyone in every round", Terms()),
        (f"Poisson sampling q = 1e-05, {STAGED}", Terms(staged=ExactAttackers(each=2, attackers=4))),
        ("looks at norms only, everyone in every round", Terms(noise_of="looks")),
        (
            f"looks at norms only, Poisson sampling q = 0.5, {STAGED}",
            Terms(noise_of="looks", staged=ExactAttackers(each=2, attackers=4)),
        ),
        (
            "DP-SGD at the user, batches p = 0.4, 1 step a round; noise of the whole cohort, fixed-size "
            "sampling m = 20",
            Terms(noise_of="cohort"),
        ),
        (
            "DP-SGD at the user, batches p = 0.4, 1 step a round; probability p q, q = 0.5, noise of the "
            "whole cohort",
            Terms(noise_of="cohort", claimed_rate=0.5),
        ),
        ("DP-SGD at the user, batches p = 0.4, 26 steps a round", Terms(noise_of="user")),
        (
            "DP-SGD at the user, batches p = 0.4, 2 steps a round, data sizes public, fixed-size sampling "
            f"m = 5, {STAGED}, attackers need not follow the local protocol",
            Terms(
                noise_of="user",
                public_sizes=True,
                deviating=True,
                staged=ExactAttackers(each=2, attackers=4),
            ),
        ),
        (
            "one clipped gradient with noise at the user, the server's looks at norms included",
            Terms(noise_of="user", looks=True),
        ),
    ],
)
def test_every_sentence_of_version_1_becomes_terms(words: str, terms: Terms) -> None:
    assert terms_of(words) == terms


@pytest.mark.parametrize(
    "words",
    ["", "by the moon", "Poisson sampling q = 0.1, and more", "Poisson sampling", STAGED, None, 3, ["a"]],
)
def test_a_sentence_that_fedward_never_wrote_is_refused(words: Any) -> None:
    with pytest.raises(InvalidValue, match=r"sampling must be one that fedward 0\.1 wrote"):
        terms_of(words)


@pytest.mark.parametrize(
    ("words", "event", "adjacency"),
    [
        ("Poisson sampling q = 0.5", POISSON, "add/remove"),
        ("Poisson sampling q = 1", GaussianDpEvent(2.0), "add/remove"),
        ("everyone in every round", GaussianDpEvent(2.0), "replace-one"),
        (f"Poisson sampling q = 0.5, {STAGED}", POISSON, "add/remove"),
        (
            "fixed-size sampling m = 20",
            SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(2.0)),
            "replace-one",
        ),
        # The declared size stood there, the events are about the honest users of a cohort.
        (
            f"fixed-size sampling m = 20, {STAGED}",
            SampledWithoutReplacementDpEvent(196, 18, GaussianDpEvent(2.0)),
            "replace-one",
        ),
    ],
)
def test_a_ledger_whose_words_are_its_events_is_read(words: str, event: DpEvent, adjacency: str) -> None:
    ledger, _ = loads(version_1(words, event, adjacency))
    assert ledger.spending == ((event, 3),)
    assert ledger.terms == terms_of(words)


@pytest.mark.parametrize(
    ("words", "event"),
    [
        ("Poisson sampling q = 0.5", PoissonSampledDpEvent(0.001, GaussianDpEvent(2.0))),
        ("Poisson sampling q = 0.001", POISSON),
        ("everyone in every round", POISSON),
        ("Poisson sampling q = 0.5", GaussianDpEvent(2.0)),
        ("DP-SGD at the user, batches p = 0.5, 2 steps a round", POISSON),
        (f"Poisson sampling q = 0.4, {STAGED}", POISSON),
    ],
)
def test_a_ledger_whose_words_differ_from_its_events_is_refused(words: str, event: DpEvent) -> None:
    with pytest.raises(InvalidValue, match="sampling must be that of the events"):
        loads(version_1(words, event))


def test_words_of_a_ledger_without_a_guarantee_are_not_relied_on() -> None:
    ledger, _ = loads(version_1("by the moon", reason="no noise is added"))
    assert ledger.terms == Terms()


@pytest.mark.parametrize("words", ["Poisson sampling q = 0.001", "everyone in every round", "", 7])
def test_a_file_of_today_whose_words_differ_from_its_events_is_refused(words: Any) -> None:
    content = json.loads(
        dumps(Ledger(unit="user", adjacency="add/remove", noise_source="seeded").charged(POISSON, 3))
    )
    del content["digest"]
    content["sampling"] = words
    with pytest.raises(
        InvalidValue, match=r"sampling must be that of the events, 'Poisson sampling q = 0\.5'"
    ):
        loads(json.dumps({**content, "digest": digest(content)}))


def test_a_guarantee_of_version_1_keeps_what_it_says() -> None:
    ledger = Ledger(unit="user", adjacency="replace-one", noise_source="seeded")
    event = SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(2.0))
    today = ledger.charged(event, 3).guarantee(1e-3, "moments")
    old = today.to_json() | {"caveat": today.caveats}
    for name in ("terms", "sampled", "papers_sampling"):
        del old[name]
    found = Guarantee.from_json(old)
    assert found == today
    assert not found.proven
