from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SampledWithoutReplacementDpEvent

from certificates.small_certificate import EVENT, M, N, ledger, replicas, setting
from fedward.base.validate import InvalidType, InvalidValue
from fedward.certificates import certified_k, transport
from fedward.certificates.certificate import Certificate, certify
from fedward.certificates.confidence import Confidence
from fedward.certificates.statements import statements
from fedward.privacy import epsilon_of
from fedward.privacy.group import group_curve


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
