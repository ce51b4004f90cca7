from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from fedward.base import json_lines
from fedward.base.validate import InvalidValue


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_private_file_is_never_wider_whatever_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    opened = os.open

    def watch(path: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = opened(path, flags, mode)
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            made.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return descriptor

    monkeypatch.setattr(os, "open", watch)
    before = os.umask(0)
    try:
        json_lines.append(tmp_path / "telemetry.jsonl", {"round": 0}, private=True)
        json_lines.append(tmp_path / "rounds.jsonl", {"round": 0})
    finally:
        os.umask(before)
    assert made == [0o600, 0o666]
    assert json_lines.read(tmp_path / "telemetry.jsonl") == [{"round": 0}]


def test_a_file_that_was_wider_is_narrowed_by_the_next_line(tmp_path: Path) -> None:
    file = tmp_path / "telemetry.jsonl"
    json_lines.append(file, {"round": 0})
    file.chmod(0o644)
    json_lines.append(file, {"round": 1}, private=True)
    assert mode_of(file) == 0o600
    assert json_lines.read(file) == [{"round": 0}, {"round": 1}]


def written(file: Path, rounds: int) -> bytes:
    for t in range(rounds):
        json_lines.append(file, {"round": t, "accuracy": 0.5})
    return file.read_bytes()


@pytest.mark.parametrize("kept", [0, 1, 2, 3, 5])
def test_records_of_rounds_that_were_not_finished_are_cut_off(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "rounds.jsonl"
    written(file, 3)
    json_lines.shorten(file, json_lines.size_below(file, kept))
    assert [record["round"] for record in json_lines.read(file)] == list(range(min(kept, 3)))


def test_a_line_that_a_kill_cut_off_anywhere_is_no_record_and_is_dropped(tmp_path: Path) -> None:
    file = tmp_path / "rounds.jsonl"
    content = written(file, 3)
    whole = content.rindex(b"\n", 0, len(content) - 1) + 1
    for length in range(whole, len(content)):
        file.write_bytes(content[:length])
        assert [record["round"] for record in json_lines.read(file)] == [0, 1]
        json_lines.shorten(file, json_lines.size_below(file, 3))
        assert file.read_bytes() == content[:whole]


def test_damage_in_the_middle_is_said(tmp_path: Path) -> None:
    file = tmp_path / "rounds.jsonl"
    file.write_bytes(b'{"round": 0}\n{"rou\n{"round": 2}\n')
    with pytest.raises(InvalidValue, match="is damaged and cannot be read"):
        json_lines.read(file)


@pytest.mark.parametrize("kept", [b"", b"{", b'{"round": 1'])
def test_a_last_line_that_lost_its_bytes_with_the_power_is_no_record(tmp_path: Path, kept: bytes) -> None:
    file = tmp_path / "rounds.jsonl"
    before = written(file, 1)
    file.write_bytes(before + kept + bytes(12) + b"}\n")
    assert [record["round"] for record in json_lines.read(file)] == [0]
    json_lines.shorten(file, json_lines.size_below(file, 2))
    assert file.read_bytes() == before


def test_such_a_line_in_the_middle_is_damage(tmp_path: Path) -> None:
    file = tmp_path / "rounds.jsonl"
    before = written(file, 1)
    file.write_bytes(bytes(12) + b"}\n" + before)
    for read in (json_lines.read, lambda path: json_lines.size_below(path, 5)):
        with pytest.raises(InvalidValue, match="is damaged"):
            read(file)


def test_more_lines_than_any_training_writes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rounds.jsonl"
    written(file, 4)
    monkeypatch.setattr(json_lines, "_MOST_RECORDS", 3)
    with pytest.raises(InvalidValue, match="at most 3 lines"):
        json_lines.read(file)
