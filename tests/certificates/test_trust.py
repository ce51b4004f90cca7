"""A check says what it recomputed and what it did not: typed, and a sentence made from each."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from certificates.small_certificate import bound, ledger, replicas, setting
from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Certificate, certify
from fedward.certificates.certificate_file import dumps, loads
from fedward.certificates.checking import Check, check
from fedward.certificates.confidence import Confidence
from fedward.certificates.tally import Tally
from fedward.certificates.trust import Statement, list_trusted
from fedward.certificates.trusted_names import Recomputed, Trusted


def checked(made: Certificate, scores: Any) -> Check:
    return check(loads(dumps(made, "scores.npz")), scores.to_bytes())


def says(statements: tuple[Statement, ...], what: str) -> str:
    (found,) = [each.says for each in statements if each.what == what]
    return found


def test_a_certificate_that_holds_lists_all_that_was_recomputed_and_all_that_was_not(
    made: Certificate,
) -> None:
    found = checked(made, bound())
    assert found.holds
    without_retraining = [each for each in get_args(Recomputed) if each not in ("experiment", "retrained")]
    assert [each.what for each in found.recomputed] == without_retraining
    of_groups_and_public_data = ("groups", "public_data")  # there are none
    expected = [each for each in get_args(Trusted) if each not in of_groups_and_public_data]
    assert [each.what for each in found.rests_on_trust] == expected
    assert made.setting.data in says(found.rests_on_trust, "data")
    assert made.setting.initial_model in says(found.rests_on_trust, "initial_model")
    assert "streams of the draw that it names" in says(found.rests_on_trust, "fixed_beforehand")


def test_a_ledger_with_noise_that_nobody_added_holds_and_the_noise_is_said_to_rest_on_trust() -> None:
    """The same scores, certified again with σ = 10^6: nothing in the files is wrong but what was trained."""
    loud = setting(ledger=ledger(PoissonSampledDpEvent(0.1, GaussianDpEvent(1e6))))
    found = checked(certify(loud, bound()), bound())
    assert found.holds
    told = says(found.rests_on_trust, "ledger")
    assert "noise multiplier 1e+06, Poisson sampling q = 0.1, 3 rounds, 200 users" in told
    assert "noise" not in " ".join(each.says for each in found.recomputed)
    assert "nothing was trained again" in says(found.rests_on_trust, "trainings")


def test_noise_that_differs_by_round_is_named_from_least_to_most() -> None:
    both = ledger().charged(GaussianDpEvent(0.5), 1)
    told = says(list_trusted(certify(setting(ledger=both), replicas())), "ledger")
    assert "noise multipliers 0.5 to 2," in told


def test_votes_say_nothing_about_copies_or_missing_numbers() -> None:
    rule = Confidence(looks=(100,), error=0.05, method="clopper_pearson")
    tally = Tally.of(replicas())
    found = checked(certify(setting(confidence=rule), tally), tally)
    kinds = {each.what for each in found.recomputed}
    assert not kinds & {"copies", "numbers", "draw"}
    assert "a copy of one could not be told from chance" in says(found.rests_on_trust, "independence")
    assert "the number of replicas and all else that is claimed were fixed before" in says(
        found.rests_on_trust, "fixed_beforehand"
    )


def test_without_labels_no_accuracy_was_recomputed() -> None:
    bare = bound(labels=None)
    assert "accuracy" not in {each.what for each in checked(certify(setting(), bare), bare).recomputed}


@pytest.mark.parametrize("scores", [b"", replicas().to_bytes()])
def test_what_was_not_recomputed_is_not_said_to_be(made: Certificate, scores: bytes) -> None:
    found = check(loads(dumps(made, "scores.npz")), scores)
    assert not found.holds
    assert found.recomputed == ()
    assert found.rests_on_trust


def test_a_statement_is_of_a_known_kind() -> None:
    with pytest.raises(InvalidValue, match="what must be one of"):
        Statement("honesty", "that all is well")  # type: ignore[arg-type]
