from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SampledWithoutReplacementDpEvent

from fedward.certify import certified_k, transport
from fedward.certify.certificate import Certificate, certify
from fedward.certify.certificate_file import dumps, loads
from fedward.certify.checking import Check, check
from fedward.certify.confidence import Confidence
from fedward.certify.replicas import Replicas
from fedward.certify.setting import Setting
from fedward.certify.statements import statements
from fedward.core.strict_json import digest
from fedward.core.validate import InvalidType, InvalidValue
from fedward.privacy import Ledger, epsilon_of
from fedward.privacy.group import group_curve

M, N = 100, 4
EVENT = PoissonSampledDpEvent(0.1, GaussianDpEvent(2.0))


def ledger(event: Any = EVENT, rounds: int = 3, **changes: Any) -> Ledger:
    arguments = {
        "unit": "user",
        "adjacency": "add/remove",
        "sampling": "Poisson q = 0.1",
        "noise_source": "seeded",
    }
    return Ledger(**(arguments | changes)).charged(event, rounds)


def setting(**changes: Any) -> Setting:
    arguments: dict[str, Any] = {
        "ledger": ledger(),
        "users": 200,
        "confidence": Confidence(looks=(M,), error=0.05),
        "delta": 0.0029,
        "accountant": "rdp",
        "initial_model": "a1",
        "data": "b2",
        "threats": ("inject", "compromise"),
    }
    return Setting(**(arguments | changes))


def replicas(**changes: Any) -> Replicas:
    rng = np.random.default_rng(2)
    # From an example that is nearly certain to one that is level.
    scores = np.stack([rng.dirichlet([a, 1.0, 1.0], M) for a in (40, 12, 5, 1)], axis=1)
    arguments: dict[str, Any] = {
        "scores": scores,
        "numbers": np.arange(M),
        "seed": 7,
        "labels": [0, 1, 0, 0],
    }
    return Replicas(**(arguments | changes))


@pytest.fixture(scope="module")
def made() -> Certificate:
    return certify(setting(), replicas())


@pytest.fixture(scope="module")
def text(made: Certificate) -> str:
    return dumps(made, "scores.npz")


@pytest.fixture(scope="module")
def stored() -> bytes:
    return replicas().to_bytes()


def forged(text: str, edit: Callable[[Any], None]) -> str:
    """The file after an edit, with a digest that fits again."""
    content = json.loads(text)
    del content["digest"]
    edit(content)
    return json.dumps({**content, "digest": digest(content)})


def test_k_is_that_of_the_bounds(made: Certificate) -> None:
    bounds = setting().confidence.bounds(replicas())
    for attack in made.attacks:
        wanted = certified_k(bounds.lower, bounds.upper, ledger().spending, attack.threat)
        np.testing.assert_array_equal(attack.k, wanted)
    inject, compromise = (attack.k for attack in made.attacks)
    assert inject[0] > inject[2] > 0
    assert (inject >= compromise).all()
    assert inject[-1] == -1


def test_certified_accuracy_counts_right_and_certified_examples(made: Certificate) -> None:
    attack = made.attacks[0]
    assert attack.accuracy is not None
    right = made.bounds.top == replicas().labels
    for j, share in enumerate(attack.accuracy):
        assert share == ((attack.k >= j) & right).mean()
    assert len(attack.accuracy) == attack.k.max() + 1


def test_one_model_predicts_the_class_at_least_so_often(made: Certificate) -> None:
    scores = replicas().scores[:, np.arange(N), made.bounds.top]
    # Not the bound itself, but what it bounds, is seen in the replicas.
    assert (made.predicts <= (scores > 0.5).mean(axis=0) + 1e-12).all()
    np.testing.assert_allclose(made.predicts, np.maximum(0, 2 * made.bounds.lower - 1))
    attack = made.attacks[0]
    under = transport(
        made.bounds.lower[:1], group_curve(ledger().spending, int(attack.k[0])), "inject", "lower"
    )
    assert attack.predicts[0] == pytest.approx(max(0.0, 2 * under[0] - 1))


def test_for_votes_the_mean_is_that_probability() -> None:
    rule = Confidence(looks=(M,), method="clopper_pearson", error=0.05)
    found = certify(setting(confidence=rule, threats=("inject",)), replicas().votes())
    np.testing.assert_array_equal(found.predicts, found.bounds.lower)
    assert found.attacks[0].k[0] > 0


def test_the_epsilon_is_that_of_all_trainings(made: Certificate) -> None:
    for accountant, found in (
        ("rdp", made.releasing_all),
        ("pld", setting(accountant="pld").releasing_all()),
    ):
        assert found.epsilon == epsilon_of([(EVENT, 3 * M)], 0.0029, accountant, "add/remove")
        assert found.epsilon > 5 * epsilon_of([(EVENT, 3)], 0.0029, accountant, "add/remove")
    words = " ".join(statements(made))
    assert f"ε = {made.releasing_all.epsilon:.4f}" in words
    assert "not a private release" in words
    # The ε of one training must not stand beside it.
    assert f"{epsilon_of([(EVENT, 3)], 0.0029, 'rdp', 'add/remove'):.4f}" not in words


def test_an_epsilon_beyond_pld_is_accounted_by_rdp() -> None:
    loud = setting(ledger=ledger(PoissonSampledDpEvent(0.5, GaussianDpEvent(0.5)), 10), accountant="pld")
    assert loud.releasing_all().accountant == "rdp"
    assert loud.releasing_all().epsilon > 200


def test_no_more_users_are_compromised_than_there_are() -> None:
    few = setting(users=5)
    assert (few.most("present"), few.most("compromise")) == (5, 5)
    assert few.most("inject") > 5


def test_it_says_what_it_assumes(made: Certificate) -> None:
    words = " ".join(statements(made))
    for part in (
        "expected confidence of this mechanism with this initial model and these local seeds",
        "each test example, with probability at least 0.95",
        "draws every user, attackers too, with the stated probability",
        "nobody sees the noise",
        "The number of replicas, 100, was fixed beforehand.",
        "Inject: k malicious users are added",
        "Compromise: k users are replaced",
    ):
        assert part in words
    assert "Present:" not in words
    many = replace(
        made,
        setting=setting(
            confidence=Confidence(looks=(50, M), method="betting_sequence", simultaneous=True),
            attendance="every-round",
        ),
    )
    words = " ".join(statements(many))
    assert "after looks at 50;" in words
    assert "all test examples together" in words
    assert "attackers as present in every round" in words


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {
                "ledger": ledger(
                    SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(1.5)), adjacency="replace-one"
                )
            },
            "needs Poisson sampling, got fixed-size sampling",
        ),
        ({"ledger": ledger(reason="raw-median clipping")}, "guarantee, got none: raw-median clipping"),
        ({"ledger": ledger(unit="example")}, "skips its local noise voids it"),
        ({"attendance": "chosen"}, "must be certified with q = 1, got q = 0.1"),
        ({"threats": ()}, "one or more different ones"),
        ({"threats": ("inject", "inject")}, "one or more different ones"),
        ({"threats": ("injekt",)}, "did you mean 'inject'?"),
        ({"users": 0}, "number of users must be at least 1, got 0"),
        ({"delta": math.nan}, "delta must be above 0 and below 1, got nan"),
        ({"accountant": "moments"}, "accountant must be one of pld, rdp, got 'moments'"),
        ({"data": ""}, "digest of the data must not be empty"),
    ],
)
def test_what_cannot_be_certified_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        setting(**changes)


def test_a_setting_is_made_of_its_parts() -> None:
    with pytest.raises(InvalidType, match="confidence must be a Confidence"):
        setting(confidence=0.99)


def test_the_file_gives_the_certificate_back(made: Certificate, text: str) -> None:
    found = loads(text)
    assert (found.file, found.says) == ("scores.npz", statements(made))
    assert found.certificate.setting == made.setting
    assert found.certificate.releasing_all == made.releasing_all
    assert dumps(found.certificate, "scores.npz") == text


def test_the_file_can_be_checked_from_the_stored_scores_alone(text: str, stored: bytes) -> None:
    assert check(loads(text), stored) == Check((), ())


def edit_k(by: int) -> Callable[[Any], None]:
    def edit(content: Any) -> None:
        content["attacks"][0]["k"][1] += by

    return edit


FORGERIES: list[tuple[str, Callable[[Any], None], str]] = [
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
    ("most", lambda c: c["attacks"][0].__setitem__("most", 9999), "the last k tried is 4096, not 9999"),
    ("threat", lambda c: c["attacks"][1].__setitem__("threat", "present"), "not the threats of its setting"),
    ("words", lambda c: c["says"].__setitem__(0, "All is well."), "its words are not those of its numbers"),
    ("error", lambda c: c["setting"]["confidence"].__setitem__("error", 1e-9), "lower claims more"),
    (
        "looks",
        lambda c: c["setting"]["confidence"].__setitem__("looks", [50]),
        "must be 50, as fixed beforehand",
    ),
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
    scores = replicas().scores.copy()
    scores[3, 2] = scores[3, 2][::-1]
    changed = check(loads(text), replicas(scores=scores).to_bytes())
    assert "the stored scores were changed" in changed.problems[0]
    assert "the stored scores are refused" in check(loads(text), stored[:-40]).problems[0]
    assert not check(loads(text), replicas(labels=None).to_bytes()).holds


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
        (lambda c: c.__setitem__("version", 2), "must be of version 1, got 2"),
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
