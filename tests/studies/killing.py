"""Kills runs at every file operation there is, one after the other."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedward.base import json_lines as lines
from fedward.rundir.store import open_run
from fedward.studies.training.training_study import Setup
from training_steps import run


class Killed(BaseException):
    """Stands for SIGKILL: nothing in the product may catch it."""


def kill_at(monkeypatch: pytest.MonkeyPatch, operation: int) -> None:
    """Ends the process, so to speak, at the given file operation: before it, or halfway through a write."""
    done = 0

    def due() -> bool:
        nonlocal done
        done += 1
        return done == operation + 1

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if due():
                raise Killed
            return real(*arguments)

        return call

    def half_append(path: Path, record: dict[str, Any], *, private: bool = False) -> None:
        if due():
            with path.open("a") as file:
                file.write(json.dumps(record)[:7])
            raise Killed
        real_append(path, record, private=private)

    real_append = lines.append
    monkeypatch.setattr(os, "replace", counted(os.replace))
    monkeypatch.setattr(os, "fsync", counted(os.fsync))
    monkeypatch.setattr(lines, "append", half_append)


def run_to_end(setup: Setup, path: Path) -> dict[str, Any]:
    """The result of a run, begun or gone on with."""
    with open_run(path) as directory:
        for _ in run(setup, directory):
            pass
        result = directory.result()
    assert result is not None
    return result.to_json()


def killed_and_resumed_everywhere(setup: Setup, path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Runs that were killed at each file operation in turn, and resumed."""
    found: list[Path] = []
    while True:
        place = path / f"killed-at-{len(found)}"
        with monkeypatch.context() as patch:
            kill_at(patch, len(found))
            try:
                run_to_end(setup, place)
                return found
            except Killed:
                pass
        run_to_end(setup, place)
        found.append(place)


def assert_no_kill_changes(
    contents: Callable[[Path], Any], setup: Setup, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the file operation a run is killed at, it ends with the contents of a whole one."""
    run_to_end(setup, path / "whole")
    whole = contents(path / "whole")
    found = killed_and_resumed_everywhere(setup, path, monkeypatch)
    assert len(found) > 20
    for place in found:
        assert contents(place) == whole, place.name
