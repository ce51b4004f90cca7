from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import exit_code as fedward
from fedward.api import audit_api, audit_self_test
from fedward.studies.audit.audit_study import plan_audit
from fedward.studies.audit.audited_claim import Change
from fedward.studies.audit.self_test import SelfTestResult, Tried, mutants
from tiny_experiment import TEXT

EVERYONE = TEXT.replace('name = "poisson", rate = 0.5', 'name = "everyone"').replace(
    "rounds = 2", "rounds = 1"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(EVERYONE)
    return path


def test_a_mechanism_is_audited_from_an_experiment_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "run"
    command = ("audit", file, "--runs", 200, "--out", out, "--workers", 0)
    assert fedward(*command, monkeypatch=monkeypatch) == 0
    text = " ".join(capsys.readouterr().out.split())
    for expected in (
        "promised",
        "noise family",
        "no violation found: measured at least",
        "at 95 %",
        "a pass proves nothing: another attack may find more",
        "200 trainings in",
    ):
        assert expected in text
    assert fedward(*command, "--json", monkeypatch=monkeypatch) == 0  # nothing is trained again
    answer = json.loads(capsys.readouterr().out)
    stored = json.loads((out / "result.json").read_text())
    assert answer == {**stored, "directory": str(out)}
    assert answer["verdict"] == "no violation"


def test_a_violation_exits_with_one(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = next(each.change for each in mutants() if each.name == "no clip")

    def plan(experiment: Any, question: Any, data_dir: Path | None = None) -> Any:
        return plan_audit(experiment, question, data_dir, Change(algorithm=broken.algorithm))

    monkeypatch.setattr(audit_api, "plan_audit", plan)
    command = ("audit", file, "--runs", 200, "--out", file.parent / "run", "--workers", 0)
    assert fedward(*command, monkeypatch=monkeypatch) == 1
    assert "VIOLATION: measured at least" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--mode", "magic"), "mode must be one of mechanism, one-run, black-box"),
        (("--see", "nothing"), "see must be one of rounds, final"),
        (("--runs", 10), "runs must be at least 100"),
        (("--runs", 10**11), "runs must be at most 10,000,000, got 100,000,000,000"),
        (("--canaries", 50), "canaries are for the mode one-run"),
        (("--mode", "black-box", "--see", "rounds"), "see must be final"),
        (("--mode", "one-run", "--see", "final"), "see must be rounds"),
        (("--error", 1.5), "error must"),
        (("--self-test",), "leave out"),
    ],
)
def test_a_mistake_is_one_line(
    options: tuple[object, ...],
    problem: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert fedward("audit", file, *options, monkeypatch=monkeypatch) == 2
    assert problem in capsys.readouterr().err
    assert not (Path("runs")).exists()


@pytest.mark.parametrize("option", [("--mode", "one-run"), ("--runs", 500), ("--out", "here")])
def test_the_self_test_takes_no_questions(
    option: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fedward("audit", "--self-test", *option, monkeypatch=monkeypatch) == 2
    assert "stores nothing: leave out --mode" in capsys.readouterr().err


def test_a_file_or_the_self_test_must_be_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fedward("audit", monkeypatch=monkeypatch) == 2
    assert "or --self-test" in capsys.readouterr().err


def test_the_self_test_prints_a_table_and_fails_if_a_mutant_escapes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = Tried(
        name="no clip", caught=False, claimed=2.0, lower_bound=1.0, runs=500, seconds=2.0, attack=""
    )
    found = SelfTestResult(mutants=(tried,), sound=20, false_alarms=1)
    monkeypatch.setattr(audit_self_test, "run_self_test", lambda sound, console: found)
    assert fedward("audit", "--self-test", monkeypatch=monkeypatch) == 1
    out = capsys.readouterr().out
    assert "NOT CAUGHT" in out
    assert "THE SELF-TEST FAILED" in out
    assert fedward("audit", "--self-test", "--json", monkeypatch=monkeypatch) == 1
    assert json.loads(capsys.readouterr().out)["passed"] is False
