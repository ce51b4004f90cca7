from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fedward.auditing.audit_question import AuditQuestion
from fedward.backends.compute import IN_PROCESS
from fedward.base.validate import InvalidValue
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.run_record import load
from fedward.studies.audit.many_trainings import ManyTrainingsAudit
from studies.audit.audited import INSDP, audited, study_of

FEW = AuditQuestion(runs=100)
EVERYONE: dict[str, Any] = {
    "rounds": 1,
    "algorithm": {"sampler": {"name": "everyone"}, "noise_multiplier": 1.0},
}


def test_a_sound_mechanism_passes_below_its_promise(tmp_path: Path) -> None:
    found = audited(tmp_path / "run", EVERYONE, AuditQuestion(runs=1200))
    assert found.verdict == "no violation"
    assert 0.5 * found.claimed < found.lower_bound < found.claimed
    assert found.estimate == pytest.approx(found.claimed, rel=0.3)
    assert found.sentence.startswith("no violation found: measured at least ")
    assert {bound.method for bound in found.bounds} == {"error rates", "noise family"}
    assert set(found.accountants) == {"pld", "rdp", "moments"}
    assert found.assumptions[0] == "the mechanism is the claimed Gaussian one but for the amount of its noise"


def test_a_killed_audit_goes_on_and_ends_with_the_same_result(tmp_path: Path) -> None:
    whole = audited(tmp_path / "whole", EVERYONE, FEW)
    study = study_of(EVERYONE, FEW)
    with study.open(tmp_path / "killed", IN_PROCESS) as place:
        steps = iter(study.steps(place, IN_PROCESS))
        for _ in range(2):
            next(steps)
        steps.close()  # type: ignore[attr-defined]
    record = load(tmp_path / "killed")
    assert isinstance(record, AuditRecord)
    assert (record.finished, record.stored, record.verdict) == (False, 1, None)
    assert audited(tmp_path / "killed", EVERYONE, FEW) == whole
    files = {file.name for file in (tmp_path / "whole").glob("seen-*")}
    assert files == {file.name for file in (tmp_path / "killed").glob("seen-*")}


def test_the_trainings_that_are_judged_chose_nothing(tmp_path: Path) -> None:
    study = study_of(EVERYONE, FEW)
    assert isinstance(study, ManyTrainingsAudit)
    pilot = {(b.stage, n) for b in study.pilot_blocks() for n in range(b.start, b.stop)}
    judged = {("quiet", n) for b in study.judged_blocks("quiet") for n in range(b.start, b.stop)}
    assert not pilot & judged
    assert len(pilot) + len(judged) == 100


def test_the_last_model_of_real_trainings_can_be_attacked(tmp_path: Path) -> None:
    question = AuditQuestion(mode="black-box", see="final", runs=100)
    found = audited(tmp_path / "run", EVERYONE | {"algorithm": {"noise_multiplier": 2.0}}, question)
    assert found.verdict == "no violation"
    assert "last model" in found.assumptions[-1]


def test_a_damaged_block_is_named(tmp_path: Path) -> None:
    audited(tmp_path / "run", EVERYONE, FEW)
    file = sorted((tmp_path / "run").glob("seen-quiet-*"))[0]
    file.write_bytes(b"no arrays")
    with pytest.raises(InvalidValue, match=f"{file.name}.*remove it"):
        audited(tmp_path / "run", EVERYONE, FEW)


def test_a_directory_of_another_question_is_refused(tmp_path: Path) -> None:
    audited(tmp_path / "run", EVERYONE, FEW)
    with pytest.raises(InvalidValue, match=r"audit\.runs \(100 there, 102 here\)"):
        audited(tmp_path / "run", EVERYONE, AuditQuestion(runs=102))


def test_another_error_is_judged_from_the_same_trainings(tmp_path: Path) -> None:
    audited(tmp_path / "run", EVERYONE, FEW)
    found = audited(tmp_path / "run", EVERYONE, AuditQuestion(runs=100, error=0.4))
    assert found.error == 0.4
    assert json.loads((tmp_path / "run" / "result.json").read_text())["error"] == 0.4


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"algorithm": {"noise_source": "system"}}, "seeded noise"),
        (
            {"algorithm": {"preset": "fedavg", "clip_bound": None, "noise_multiplier": None}},
            "no noise is added",
        ),
        (
            {
                "algorithm": {"sampler": {"name": "fixed_size", "size": 4}},
                "privacy": {"accountant": "moments"},
            },
            "papers",
        ),
        (
            {
                "attack": {
                    "who": {"name": "random", "count": 1},
                    "data": [{"name": "label_flip", "target": 0}],
                }
            },
            "attack",
        ),
        ({"data": {"name": "synthetic", "users": 1, "features": 3}, "privacy": {"users": 8}}, "2 users"),
    ],
)
def test_what_claims_nothing_is_refused_before_anything_runs(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidValue, match=problem):
        study_of(changes, FEW)


def test_a_budget_ends_what_is_claimed(tmp_path: Path) -> None:
    study = study_of({"rounds": 30, "privacy": {"budget": 3.0}}, FEW)
    assert 1 <= study.claim.rounds < 30
    assert study.claim.guarantee.epsilon <= 3.0


def test_examples_are_audited_where_those_are_hidden(tmp_path: Path) -> None:
    found = audited(tmp_path / "run", INSDP | {"rounds": 1}, FEW)
    assert found.guarantee.unit == "example"
    assert found.attack.startswith("a canary in the data of one user")
