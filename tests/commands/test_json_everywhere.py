"""Whatever a program may read: every command has --json, and prints one JSON object and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_line import all_commands
from fedward.cli import app
from tiny_experiment import TEXT

ALL = dict(all_commands(app))


# What these write is the answer: a file of the format that was asked for.
@pytest.mark.parametrize("name", [name for name in ALL if name != "runs export"])
def test_every_command_can_answer_a_program(name: str) -> None:
    assert any("--json" in parameter.opts for parameter in ALL[name].params)


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["new", "made.toml"], {"file", "text"}),
        (["new", "-"], {"text"}),
        (["show", "poisson"], {"name", "meanings"}),
        (["show", "first.toml"], {"experiment", "guarantee", "statement", "engine"}),
        (["run", "first.toml", "--workers", "0"], {"epsilon", "statement", "directory"}),
        (["report", "runs/first"], {"page", "runs"}),
    ],
)
def test_the_answer_is_one_object(
    words: list[str], keys: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first.toml").write_text(TEXT)
    if words[0] == "report":
        assert CliRunner().invoke(app, ["run", "first.toml", "--workers", "0"]).exit_code == 0
    answer = CliRunner().invoke(app, [*words, "--json"])
    assert answer.exit_code == 0, answer.output
    assert keys <= json.loads(answer.stdout).keys()
