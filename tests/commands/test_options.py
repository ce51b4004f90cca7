from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command_line import answer
from tiny_experiment import TWENTY

FILE = TWENTY


@pytest.fixture
def fedward(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.toml").write_text(FILE, encoding="utf8")
    return partial(answer, monkeypatch=monkeypatch, capsys=capsys)


def test_a_run_stores_the_values_that_were_set_and_refuses_others(fedward: Any, tmp_path: Path) -> None:
    code, out, err = fedward("run", "file.toml", "--set", "rounds=1", "--json")
    assert code == 0, err
    assert json.loads(out)["rounds"] == 1
    stored = json.loads((tmp_path / "runs" / "file" / "run.json").read_text(encoding="utf8"))
    assert stored["experiment"]["rounds"] == 1
    code, _, err = fedward("run", "file.toml", "--set", "rounds=1", "--set", "seed=2")
    assert code == 2
    assert "holds another run: experiment.seed (1 there, 2 here)" in err
    # The same values again, however they were written: the same run.
    assert fedward("run", "file.toml", "--set", "rounds = 1", "--json")[0] == 0


def test_replicas_and_certificates_take_other_values(fedward: Any, tmp_path: Path) -> None:
    changes = ["--set", "rounds=1", "--set", "algorithm.clip_bound=0.25"]
    assert fedward("replicas", "file.toml", "-m", 2, *changes, "--json")[0] == 0
    assert fedward("certify", "file.toml", "-m", 2, *changes, "--threat", "inject", "--json")[0] == 0
    for name in ("file-replicas", "file-certified"):
        stored = json.loads((tmp_path / "runs" / name / "run.json").read_text(encoding="utf8"))
        experiment = stored["experiment"]["variants"]["all"]
        assert (experiment["rounds"], experiment["algorithm"]["clip_bound"]) == (1, 0.25)


@pytest.mark.parametrize("command", [["run"], ["replicas", "-m", "2"], ["certify", "-m", "2"], ["show"]])
def test_unknown_keys_and_bad_values_are_named_with_where_they_came_from(
    fedward: Any, command: list[str], tmp_path: Path
) -> None:
    name, *options = command
    code, out, err = fedward(name, "file.toml", *options, "--set", "algorithm.clip_bond=1")
    assert (code, out) == (2, "")
    assert "file.toml --set algorithm.clip_bond=1 is not a valid experiment" in err
    assert "did you mean 'clip_bound'" in err
    assert fedward(name, "file.toml", *options, "--set", "rounds")[0] == 2
    assert not (tmp_path / "runs").exists()
