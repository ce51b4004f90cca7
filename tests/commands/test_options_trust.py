"""Own code on the command line: refused, allowed by --trust, or by an answer at a terminal."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command_line import answer
from fedward.commands import options
from own_module import own_module


@pytest.fixture
def fedward(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    return partial(answer, monkeypatch=monkeypatch, capsys=capsys)


@pytest.mark.parametrize(
    "command",
    [
        ("check",),
        ("run",),
        ("replicas", "-m", 2),
        ("certify", "-m", 2),
        ("infer", "membership"),
        ("show",),
    ],
    ids=lambda command: command[0],
)
def test_no_command_runs_the_code_of_a_file_unasked(fedward: Any, tmp_path: Path, command: Any) -> None:
    with own_module(tmp_path, "mine_refused") as file:
        first, *options = command
        words = [first, *options, file.name] if first != "infer" else ["infer", "membership", file.name]
        code, _, err = fedward(*words)
        assert code == 2
        assert "own.toml names code of its own (mine_refused:Net, mine_refused:HalfMean)" in err
        assert "--trust" in err
        assert "mine_refused" not in sys.modules
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "command", [("check", "--no-calibration"), ("run",), ("certify", "-m", 3), ("show",)]
)
def test_a_trusted_file_is_like_any_other(fedward: Any, tmp_path: Path, command: Any) -> None:
    with own_module(tmp_path, f"mine_trusted_{command[0]}") as file:
        first, *options = command
        code, out, err = fedward(first, file.name, *options, "--trust")
        assert code == 0, err
        assert "mine_trusted" in out + err


def test_more_code_can_be_named_on_the_command_line(fedward: Any, tmp_path: Path) -> None:
    with own_module(tmp_path, "mine_set") as file:
        changes = ["--set", "algorithm.aggregator.name=mean", "--set", "model.name=mine_set:Net"]
        assert fedward("run", file.name, *changes, "--trust", "--out", "set")[0] == 0
        varied = ["--vary", "algorithm.aggregator.name=mean,mine_set:HalfMean"]
        assert fedward("replicas", file.name, "-m", 2, *varied, "--trust", "--out", "varied")[0] == 0


@pytest.mark.parametrize("yes", [True, False])
def test_at_a_terminal_the_question_is_asked(
    fedward: Any, tmp_path: Path, yes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        asked.append(question)
        return yes

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(options, "confirm", confirm)
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with own_module(tmp_path, f"mine_asked_{yes}") as file:
        code, _, err = fedward("check", file.name, "--no-calibration")
    assert (code == 0) is yes, err
    assert len(asked) == 1
    assert "runs with all your rights. Run it?" in asked[0]
