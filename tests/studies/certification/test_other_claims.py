from __future__ import annotations

from typing import Any

import pytest

from fedward.base.validate import InvalidValue
from fedward.certificates.claims import Claims
from fedward.certificates.others import DisjointGroups, ParameterSmoothing, RandomGroups
from fedward.certificates.others.certain import Certain
from fedward.config.experiment import from_content
from fedward.studies.certification.other_claims import other_setting_of
from fedward.studies.training.setup import Setup, prepare
from tiny_experiment import CONTENT, changed

SMOOTH = changed(
    CONTENT,
    algorithm__clip_bound=2.0,
    algorithm__noise_multiplier=3.0,
    algorithm__sampler={"name": "everyone"},
    algorithm__server={"name": "model_clipping", "norm": 5.0, "learning_rate": 0.5},
)


def setup_of(content: dict[str, Any]) -> Setup:
    return prepare(from_content(content))


def test_a_round_reaches_as_far_as_its_clipped_model_and_its_longest_step() -> None:
    setting = other_setting_of(Claims(replicas=10, by=ParameterSmoothing()), setup_of(SMOOTH))
    assert setting.step is not None
    assert setting.step.reach == pytest.approx(5.0 + 0.5 * 2.0)
    assert setting.step.noise == pytest.approx(0.5 * 3.0 * 2.0 / 10)
    assert setting.noise_multiplier == 3.0
    assert setting.rounds == 2
    assert setting.releasing_all().private


def test_groups_claim_no_epsilon_whatever_noise_there_is() -> None:
    for by in (DisjointGroups(groups=3), RandomGroups(size=3)):
        claims = Claims(replicas=10, by=by)
        setting = other_setting_of(claims, setup_of(SMOOTH))
        assert claims.score == "vote"
        assert claims.attendance == "every-round"
        assert not setting.releasing_all().private
    assert isinstance(Claims(replicas=10, by=DisjointGroups(groups=3)).rule, Certain)
    assert Claims(replicas=10, by=DisjointGroups(groups=3)).replicas == 3


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (changed(SMOOTH, algorithm__server={"name": "momentum"}), "a server that clips the model"),
        (changed(SMOOTH, algorithm__sampler={"name": "poisson", "rate": 0.5}), "everybody in every round"),
    ],
)
def test_what_smoothing_does_not_cover_is_refused(content: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        other_setting_of(Claims(replicas=10, by=ParameterSmoothing()), setup_of(content))


def test_other_proofs_do_not_stop_early() -> None:
    with pytest.raises(InvalidValue, match="stopping early belongs to fedward's own"):
        Claims(replicas=10, by=RandomGroups(size=3), method="betting_votes", score="vote", until=(1,))
    with pytest.raises(InvalidValue, match="votes of disjoint groups are counted, got method 'betting'"):
        Claims(replicas=10, by=DisjointGroups(groups=3), method="betting")


def test_each_proof_has_a_draw_of_its_own() -> None:
    draws = [
        Claims(replicas=10, by=by, score="vote", attendance="every-round").draw()
        for by in (None, ParameterSmoothing(), ParameterSmoothing(attacked=(0,)), RandomGroups(size=3))
    ]
    assert len(set(draws)) == 4
