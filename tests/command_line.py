"""The command ``fedward`` in the test's own process."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

from fedward.cli import main


def all_commands(app: typer.Typer) -> Iterator[tuple[str, Any]]:
    """Every command by its name; a group that does something by itself is one too."""
    return _below(typer.main.get_command(app))


def _below(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", {})
    if not below or (name and command.invoke_without_command):
        yield name, command
    for each, other in below.items():
        yield from _below(other, f"{name} {each}".strip())


class Answer(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def exit_code(*arguments: object, monkeypatch: pytest.MonkeyPatch) -> int:
    """Runs a command; what it prints stays with the test."""
    monkeypatch.setattr(sys, "argv", ["fedward", *map(str, arguments)])
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def answer(*arguments: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Answer:
    """Runs a command; no error may be a traceback."""
    code = exit_code(*arguments, monkeypatch=monkeypatch)
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return Answer(code, captured.out, captured.err)


def output_of(app: typer.Typer, *arguments: object) -> str:
    """What a command prints that is called by itself; errors are raised."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output
