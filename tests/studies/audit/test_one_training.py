from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedward.auditing.audit_question import AuditQuestion
from fedward.backends.compute import IN_PROCESS
from fedward.base.validate import InvalidValue
from fedward.studies.audit.audited_claim import Change
from fedward.studies.audit.self_test import mutants
from fedward.studies.inference import attacked_trainings
from studies.audit.audited import INSDP, audited, study_of

ONE = AuditQuestion(mode="one-run")
WIDE: dict[str, Any] = {"data": {"name": "synthetic", "users": 8, "features": 60, "test_examples": 2}}
MANY = {
    "data": {"name": "synthetic", "users": 60, "features": 3, "test_examples": 2},
    "privacy": {"users": 60},
}


def test_canary_users_in_one_training_bound_the_promise(tmp_path: Path) -> None:
    found = audited(tmp_path / "run", WIDE | {"algorithm": {"noise_multiplier": 1.0}}, ONE)
    assert (found.runs, found.canaries, found.verdict) == (1, 610, "no violation")
    assert 0.3 < found.lower_bound < found.claimed
    assert {bound.method for bound in found.bounds} == {"one run", "one run, noise family"}


def test_users_that_protect_themselves_have_a_canary_each(tmp_path: Path) -> None:
    found = audited(tmp_path / "run", MANY | INSDP, ONE)
    assert (found.canaries, found.guarantee.unit, found.verdict) == (60, "example", "no violation")


def test_a_leak_shows_in_one_training(tmp_path: Path) -> None:
    no_clip = next(each for each in mutants() if each.name == "no clip")
    found = audited(tmp_path / "run", WIDE, ONE, Change(algorithm=no_clip.change.algorithm))
    assert found.verdict == "violation"
    assert found.sentence.startswith("VIOLATION")


def test_a_killed_training_goes_on_and_ends_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attacked_trainings, "SAVE_EVERY", -1.0)
    whole = audited(tmp_path / "whole", WIDE, ONE)
    study = study_of(WIDE, ONE)
    with study.open(tmp_path / "killed", IN_PROCESS) as place:
        steps = iter(study.steps(place, IN_PROCESS))
        next(steps)
        steps.close()  # type: ignore[attr-defined]
    assert (tmp_path / "killed" / "checkpoint.pt").exists()
    assert audited(tmp_path / "killed", WIDE, ONE) == whole
    assert not (tmp_path / "killed" / "checkpoint.pt").exists()


@pytest.mark.parametrize(
    ("changes", "canaries", "problem"),
    [
        ({}, 34, "at most 33, one for each parameter"),
        (INSDP, None, "room for 10 canaries, got 8: one for each user"),
        ({"algorithm": {"sampler": {"name": "fixed_size", "size": 4}}}, None, "cohorts of a fixed"),
    ],
)
def test_what_has_no_room_for_canaries_is_refused(
    changes: dict[str, Any], canaries: int | None, problem: str
) -> None:
    with pytest.raises(InvalidValue, match=problem):
        study_of(changes, AuditQuestion(mode="one-run", canaries=canaries))
