"""Names with [brackets] are printed as they are, whatever a terminal library thinks of brackets."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command_line import answer
from fedward.reports.terminal import replica_table as replicas_report
from fedward.reports.terminal.console import plain_console
from fedward.rundir.results import Mean, ReplicasResult
from tiny_experiment import TEXT


@pytest.fixture
def fedward(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "[b].toml").write_text(TEXT.replace("rounds = 2", "rounds = 1"), encoding="utf8")
    return partial(answer, monkeypatch=monkeypatch, capsys=capsys)


def test_runs_keep_their_names(fedward: Any) -> None:
    for name in ("[/x]", "[red]"):
        code, out, err = fedward("run", "[b].toml", "--out", f"all/{name}", "--workers", 0)
        assert (code, err) == (0, "")
        assert f"run directory all/{name}\n" in out
    _, out, _ = fedward("runs", "--in", "all")
    assert [line.split()[0] for line in out.splitlines() if " run " in line and "digits" in line] == [
        "[/x]",
        "[red]",
    ]
    assert " [red] " in fedward("runs", "compare", "all/[/x]", "all/[red]", "--all").out
    assert fedward("runs", "export", "[b].csv", "--in", "all").out == "2 runs written to [b].csv\n"
    (Path("all/[red]") / "run.json").write_text("{")
    assert "all/[red] cannot be read" in fedward("runs", "--in", "all").out
    assert fedward("show", "[b].toml").out.splitlines()[2] == "run directory runs/[b]"


def test_the_directory_of_replicas_is_named(fedward: Any) -> None:
    code, out, err = fedward("replicas", "[b].toml", "-m", 2, "--out", "[/many]", "--workers", 0)
    assert (code, err) == (0, "")
    assert "run directory [/many]\n" in out


def test_a_variants_label_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    variants = {"rounds=[/0]": {"accuracy": Mean(mean=0.5, low=0.4, high=0.6)}}
    result = ReplicasResult(variants=variants, replicas=2, jobs_run=1, jobs_asked_for=1)
    replicas_report.result(plain_console(width=120), result)
    assert "rounds=[/0]" in capsys.readouterr().out


def test_a_sweep_keeps_labels_and_directory(fedward: Any) -> None:
    labelled = (
        "sweep={algorithm=[{label='a[/b]', preset='fedavg'}, {label='[red]', preset='median'}], seeds=[1]}"
    )
    code, out, err = fedward(
        "sweep", "[b].toml", "--set", labelled, "--set", "privacy=", "--out", "[/s]", "--workers", 0
    )
    assert (code, err) == (0, "")
    assert "│ a[/b]     │" in out
    assert "│ [red]     │" in out
    assert "are in [/s]" in out
    checked = fedward("check", "[b].toml", "--set", labelled, "--set", "privacy=", "--no-calibration")
    assert (checked.code, checked.err) == (0, "")
    assert "algorithm=a[/b]" in checked.out
    assert "algorithm=[red]" in checked.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "[/none].toml"], "[/none].toml"),
        (["run", "[b].toml", "--set", "a[/b]=3"], "unknown key 'a[/b]'"),
        (["run", "[b].toml", "--set", "model.name='[/m]'"], "[/m]"),
        (["run", "[b].toml", "--set", "seed=[/b]"], "[/b]"),
        (["show", ":smile:[/x]"], "':smile:[/x]'"),
        (["runs", "--in", "[/x]"], "[/x] is no directory"),
        (["users", "[/x]"], "[/x] must be the directory of a run"),
        (["ledger", "[/x].json"], "[/x].json cannot be read: there is no such file"),
        (["[/x]"], "No such command '[/x]'"),
        (["runs", "--[/x]"], "--[/x]"),
    ],
)
def test_errors_say_what_was_typed(fedward: Any, words: list[str], said: str) -> None:
    code, _, err = fedward(*words)
    assert code == 2
    assert said in err


def test_json_is_not_touched(fedward: Any) -> None:
    out = fedward("run", "[b].toml", "--out", "[/b]", "--workers", 0, "--json").out
    assert json.loads(out)["directory"] == "[/b]"
