from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from fedward.base.strict_json import digest
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Certificate
from fedward.certificates.certificate_file import dumps, loads
from fedward.certificates.checking import Check, check
from fedward.certificates.confidence import Confidence
from fedward.certificates.others import DisjointGroups, ParameterSmoothing, Proof, RandomGroups
from fedward.certificates.others.any_certificate import certify_by, draw_by
from fedward.certificates.others.certain import Certain
from fedward.certificates.others.other_certificate import certify_other
from fedward.certificates.others.other_setting import NO_EPSILON, OtherSetting
from fedward.certificates.others.parameter_smoothing import SmoothedRound
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.statements import statements
from fedward.certificates.tally import Tally
from fedward.privacy import Ledger
from fedward.privacy.accounting_events import NonPrivateDpEvent

M, N, C = 40, 6, 3
STEP = SmoothedRound(reach=1.0, noise=1.0)
PROOFS: dict[str, Proof] = {
    "flcert": DisjointGroups(groups=M),
    "flcert_random": RandomGroups(size=3),
    "crfl": ParameterSmoothing(attacked=(0,)),
}


def setting(name: str, **changes: Any) -> OtherSetting:
    by = PROOFS[name]
    noisy = isinstance(by, ParameterSmoothing)
    ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    event = GaussianDpEvent(6.0) if noisy else NonPrivateDpEvent()
    arguments: dict[str, Any] = {
        "by": by,
        "ledger": replace(ledger, reason="" if noisy else NO_EPSILON).charged(event, 2),
        "users": 200,
        "confidence": Certain(looks=(M,))
        if isinstance(by, DisjointGroups)
        else Confidence(looks=(M,), method="clopper_pearson", error=0.05),
        "delta": 0.001,
        "accountant": "rdp",
        "initial_model": "a1",
        "data": "b2",
        "step": STEP if noisy else None,
    }
    return OtherSetting(**(arguments | changes))


def votes(name: str) -> Replicas:
    rng = np.random.default_rng(2)
    classes = np.stack([rng.choice(C, M, p=[p, 1 - p, 0]) for p in (1.0, 0.95, 0.9, 0.7, 0.5, 0.1)], axis=1)
    scores = (classes[:, :, None] == np.arange(C)).astype(np.uint8)
    draw = draw_by(setting(name), "vote")
    labels = np.array([0, 0, 0, 0, 1, 1])
    return Replicas(scores=scores, numbers=np.arange(M), seed=7, score="vote", labels=labels, draw=draw)


def checked(made: Certificate, scores: Any, **edits: Any) -> Check:
    """The check of a file in which somebody changed something, with the digest made to fit."""
    content = json.loads(dumps(made, "scores.npz"))
    content.pop("digest")
    for path, value in edits.items():
        *folders, last = path.split("__")
        place: Any = content
        for each in folders:
            place = place[int(each) if each.isdigit() else each]
        place[int(last) if last.isdigit() else last] = value
    content["digest"] = digest(content)
    return check(loads(json.dumps(content)), scores.to_bytes())


@pytest.mark.parametrize("name", PROOFS)
def test_what_is_written_is_what_is_read_and_it_holds(name: str) -> None:
    scores = votes(name)
    made = certify_by(setting(name), scores)
    text = dumps(made, "scores.npz")
    stored = loads(text)
    assert stored.version == 3
    assert isinstance(stored.certificate.setting, OtherSetting)
    assert stored.certificate.setting == made.setting
    assert dumps(stored.certificate, "scores.npz") == text
    verdict = check(stored, scores.to_bytes())
    assert verdict.holds, verdict.problems
    assert not verdict.notes
    assert any(each.what == "k" and str(PROOFS[name]) in each.says for each in verdict.recomputed)
    assert {each.what for each in verdict.rests_on_trust} >= {"trainings", "data"}
    assert int(made.attacks[0].k.max()) > 0


@pytest.mark.parametrize("name", PROOFS)
def test_a_claim_of_one_attacker_more_is_found(name: str) -> None:
    scores = votes(name)
    made = certify_by(setting(name), scores)
    for number, attack in enumerate(made.attacks):
        verdict = checked(made, scores, **{f"attacks__{number}__k__0": int(attack.k[0]) + 1})
        assert not verdict.holds
        assert f"{attack.threat}: k claims more" in verdict.problems[0]


@pytest.mark.parametrize(
    ("name", "edits", "said"),
    [
        ("flcert", {"setting__by__groups": 80}, "number of models must be that of the groups"),
        ("flcert_random", {"setting__by__size": 1}, "belong to the draw"),
        ("crfl", {"setting__by__attacked": [1]}, "belong to the draw"),
        ("crfl", {"setting__step__noise": 9.0}, "claims less than|its words are not"),
        ("flcert", {"setting__by__name": "crfl"}, "has other options"),
        ("flcert", {"setting__confidence__error": 0.01}, "no error, got one"),
        ("flcert", {"predictions__top__5": 0}, "top claims less|top claims more"),
        ("flcert_random", {"says__0": "It is certain."}, "words are not those of its numbers"),
    ],
)
def test_a_file_that_says_something_else_is_found_out(name: str, edits: dict[str, Any], said: str) -> None:
    scores = votes(name)
    made = certify_by(setting(name), scores)
    try:
        verdict = checked(made, scores, **edits)
    except InvalidValue as error:
        found = str(error)
    else:
        found = " ".join((*verdict.problems, *verdict.notes))
    assert any(each in found for each in said.split("|")), found


def test_groups_have_no_epsilon_and_say_so() -> None:
    for name in ("flcert", "flcert_random"):
        made = certify_by(setting(name), votes(name))
        assert not made.releasing_all.private
        assert "no ε is claimed" in " ".join(statements(made))
        with pytest.raises(InvalidValue, match="groups of users have no guarantee"):
            setting(name, ledger=setting("crfl").ledger)


def test_disjoint_groups_are_certain_and_the_vote_alone_is_what_is_certified() -> None:
    made = certify_by(setting("flcert"), votes("flcert"))
    assert made.setting.confidence.error == 0
    for attack in made.attacks:
        assert attack.k.tolist() == made.attacks[0].k.tolist()
        assert set(attack.predicts.tolist()) <= {0.0, 1.0}
    assert int(made.attacks[0].k[0]) == M // 2  # all of them vote for the smallest class


def test_counts_are_as_good_as_votes() -> None:
    for name in PROOFS:
        scores = votes(name)
        one, other = (certify_other(setting(name), each) for each in (scores, Tally.of(scores)))
        for a, b in zip(one.attacks, other.attacks, strict=True):
            assert a.k.tolist() == b.k.tolist()


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("flcert", {"confidence": Certain(looks=(3,))}, "that of the groups, 40, got 3"),
        ("flcert", {"confidence": Confidence(looks=(M,))}, "votes are certain where groups are disjoint"),
        ("flcert", {"step": STEP}, "a step belongs to smoothed parameters"),
        ("flcert_random", {"users": 2}, "at most the 2 that there are, got 3"),
        ("crfl", {"attendance": "drawn"}, "attendance must be one of every-round"),
        ("crfl", {"by": ParameterSmoothing(attacked=(2,))}, "below the number of rounds, 2, got 2"),
        (
            "crfl",
            {
                "ledger": Ledger(unit="user", adjacency="add/remove", noise_source="seeded").charged(
                    PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)), 2
                ),
                "by": ParameterSmoothing(),
            },
            "everybody in every round",
        ),
        (
            "crfl",
            {"ledger": Ledger(unit="user", adjacency="add/remove", noise_source="seeded", reason="none")},
            "needs a training with a guarantee",
        ),
    ],
)
def test_what_a_proof_does_not_cover_is_refused(name: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        setting(name, **changes)


def test_votes_of_another_draw_and_confidences_of_groups_are_refused() -> None:
    with pytest.raises(InvalidValue, match="drawn for what is claimed"):
        certify_by(setting("flcert_random"), replace(votes("flcert_random"), draw="ab"))
    confident = np.random.default_rng(0).dirichlet([5.0, 1.0, 1.0], (M, N))
    scores = Replicas(scores=confident, numbers=np.arange(M), seed=7)
    with pytest.raises(InvalidValue, match="models of groups vote"):
        certify_by(setting("flcert"), scores)
