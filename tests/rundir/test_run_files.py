"""Files of a run, written with their digests: killed anywhere they are right, and no line is read twice."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fedward.base import json_lines as lines
from fedward.base.durable_files import CannotWrite
from fedward.rundir import run_files
from fedward.rundir.damage import find_damage, read_log
from fedward.rundir.digest_log import NAME
from fedward.rundir.run_files import Append, RunFiles, Write
from studies.failing_disk import FailingDisk


class Killed(BaseException):
    """Stands for SIGKILL."""


def session(folder: Path) -> None:
    """What a training does: begun, some rounds, finished."""
    files = RunFiles(folder)
    files.settle()
    files.write("run.json", b"what", private=True)
    done = len(lines.read(folder / "rounds.jsonl"))
    files.cut("rounds.jsonl", done)
    for t in range(done, 3):
        files.change(
            Append(name="telemetry.jsonl", record={"round": t}, private=True),
            Write(name="checkpoint.pt", content=b"%d" % t),
        )
        files.append("rounds.jsonl", {"round": t})
    files.remove("checkpoint.pt")
    files.change(Write(name="model.pt", content=b"model"), Write(name="result.json", content=b"result"))
    files.close()


def damage(folder: Path) -> list[str]:
    if not (folder / NAME).exists():
        return []
    return [str(each) for each in find_damage(folder, has_digests=True)[1]]


@pytest.mark.parametrize("half", [False, True])
def test_killed_at_any_operation_nothing_is_taken_for_damage(
    tmp_path: Path, half: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(200):
        folder = tmp_path / str(number)
        folder.mkdir()
        with monkeypatch.context() as patch:
            kill_at(patch, number, half)
            try:
                session(folder)
                break
            except Killed:
                pass
        assert damage(folder) == [], number
        session(folder)
        assert damage(folder) == [], number
        log = read_log(folder)
        assert log is not None
        assert (log.lines, log.cut_off, log.before) == (2, False, {})
        names = {"run.json", "telemetry.jsonl", "rounds.jsonl", "model.pt", "result.json"}
        assert names <= log.files.keys() <= names | {"checkpoint.pt"}
    assert number > 30


def kill_at(patch: pytest.MonkeyPatch, number: int, half: bool) -> None:
    left = [number]

    def due() -> bool:
        left[0] -= 1
        return left[0] < 0

    def watched(real: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if due():
                if half and real is write:
                    write(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                raise Killed
            return real(*arguments, **options)

        return call

    write = os.write
    for name in ("replace", "write", "fsync", "unlink", "ftruncate"):
        patch.setattr(os, name, watched(getattr(os, name)))


def test_lines_are_hashed_as_they_are_written_and_never_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = RunFiles(tmp_path)
    files.append("rounds.jsonl", {"round": 0})
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} is read"))
    for t in range(1, 50):
        files.append("rounds.jsonl", {"round": t})
    monkeypatch.undo()
    assert damage(tmp_path) == []
    assert len(lines.read(tmp_path / "rounds.jsonl")) == 50


def test_the_log_of_a_long_run_stays_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_files, "_LONGEST", 20)
    files = RunFiles(tmp_path)
    for t in range(100):
        files.write("ledger.json", b"%d" % t)
        log = read_log(tmp_path)
        assert log is not None
        assert log.lines <= 20 + 2 + 2
    assert damage(tmp_path) == []


def test_a_directory_of_an_earlier_version_gets_digests_with_its_first_change(tmp_path: Path) -> None:
    (tmp_path / "ledger.json").write_bytes(b"old")
    (tmp_path / "notes.txt").write_bytes(b"somebody's own")
    RunFiles(tmp_path).write("run.json", b"new")
    digests, found = find_damage(tmp_path, has_digests=True)
    assert (found, digests.adopted, digests.checked) == ([], True, 2)
    (tmp_path / "ledger.json").write_bytes(b"odd")
    assert [each.kind for each in find_damage(tmp_path, has_digests=True)[1]] == ["changed"]


def test_a_full_disk_leaves_files_that_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for first in range(30):
        folder = tmp_path / str(first)
        folder.mkdir()
        with monkeypatch.context() as patch:
            disk = FailingDisk(patch, "full", first=first)
            try:
                session(folder)
            except CannotWrite:
                assert disk.failed
        assert damage(folder) == []
        session(folder)
        assert damage(folder) == []


def test_damage_is_not_settled_away(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    files.write("ledger.json", b"one")
    files.write("ledger.json", b"two")
    (tmp_path / "ledger.json").write_bytes(b"bad")
    again = RunFiles(tmp_path)
    again.settle()
    again.close()
    assert len(damage(tmp_path)) == 1


def test_what_is_made_again_may_be_removed_and_what_is_not_may_not(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    files.write("scores-000000-000002.npz", b"scores")
    files.write("model.pt", b"model")
    files.close()
    for name in ("scores-000000-000002.npz", "model.pt"):
        (tmp_path / name).unlink()
    RunFiles(tmp_path).settle()
    (found,) = find_damage(tmp_path, has_digests=True)[1]
    assert (found.file.name, found.kind) == ("model.pt", "missing")
