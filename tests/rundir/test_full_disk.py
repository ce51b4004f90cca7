"""The disk refuses to write from any moment on: one clear error, and the run can be gone on with."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fedward.base import json_lines as lines
from fedward.base.durable_files import CannotWrite, remove_leftovers, write_atomically
from fedward.base.validate import InvalidValue
from fedward.rundir.run_record import load
from fedward.rundir.store import open_run
from studies.attacked import PRIVATE, left, setup_for
from studies.failing_disk import FailingDisk
from studies.killing import run_to_end
from studies.replicas_wanted import CONTENT, go, wanted

WORDS = {
    "full": "cannot be written: No space left on device; free some space, then give the same command again",
    "read-only": "cannot be written: Read-only file system; choose another place",
}


def error_of(work: Callable[[Path], object], place: Path) -> str:
    try:
        work(place)
    except CannotWrite as error:
        return str(error)
    return ""


def failed_and_mended(
    kind: str,
    work: Callable[[Path], object],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: int = 1,
) -> list[Path]:
    """Runs on a disk that failed at each operation in turn, gone on with when it was mended."""
    found: list[Path] = []
    while True:
        place = folder / f"failed-{len(found)}"
        with monkeypatch.context() as patch:
            disk = FailingDisk(patch, kind, first=len(found) * step)
            said = error_of(work, place)
        if not disk.failed:
            assert said == ""
            return found
        assert str(place) in said
        assert WORDS[kind] in said
        if (place / "run.json").exists():
            load(place)  # nothing in it is half written
        if kind == "full":
            assert not list(place.glob(".*.part"))
        work(place)
        found.append(place)


@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_a_run_whose_disk_fails_at_any_operation_ends_with_the_same_bits_once_it_is_mended(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = setup_for(algorithm=PRIVATE, rounds=2)
    run_to_end(setup, tmp_path / "whole")
    whole = left(tmp_path / "whole")
    found = failed_and_mended(kind, lambda path: run_to_end(setup, path), tmp_path, monkeypatch)
    assert len(found) > 40
    for place in found:
        assert left(place) == whole, place.name
        assert {file.name for file in place.iterdir()} == {f.name for f in (tmp_path / "whole").iterdir()}


@pytest.mark.parametrize("kind", ["full", "read-only"])
@pytest.mark.parametrize("save_space", [False, True])
def test_replicas_whose_disk_fails_end_with_the_same_bits_once_it_is_mended(
    kind: str, save_space: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = wanted(2, {**CONTENT, "rounds": 1}, save_space=save_space)
    go(run, tmp_path / "whole")
    whole = {file.name: file.read_bytes() for file in (tmp_path / "whole").glob("*.npz")}
    found = failed_and_mended(kind, lambda path: go(run, path), tmp_path, monkeypatch, step=4)
    assert len(found) > 5
    for place in found:
        assert {file.name: file.read_bytes() for file in place.glob("*.npz")} == whole
        assert not (place / "block.pt").exists()


def test_a_file_that_cannot_be_replaced_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    for first in range(4):
        file.write_bytes(b"before")
        with monkeypatch.context() as patch:
            FailingDisk(patch, "full", first)
            if first < 3:
                with pytest.raises(CannotWrite, match="file cannot be written: No space left"):
                    write_atomically(file, b"after this")
                assert file.read_bytes() == b"before"
            else:  # only its name may not be durable yet
                with pytest.raises(CannotWrite):
                    write_atomically(file, b"after this")
                assert file.read_bytes() == b"after this"
        assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_what_the_system_takes_in_pieces_is_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: real(descriptor, memoryview(content)[:3]))
    write_atomically(tmp_path / "file", b"0123456789")
    lines.append(tmp_path / "lines.jsonl", {"round": 0})
    assert (tmp_path / "file").read_bytes() == b"0123456789"
    assert lines.read(tmp_path / "lines.jsonl") == [{"round": 0}]


def test_half_a_line_is_no_line_and_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rounds.jsonl"
    lines.append(file, {"round": 0, "accuracy": 0.5})
    with monkeypatch.context() as patch:
        FailingDisk(patch, "full", first=1)
        with pytest.raises(CannotWrite, match=r"rounds\.jsonl cannot be written: No space left"):
            lines.append(file, {"round": 1, "accuracy": 0.75})
    assert not file.read_text().endswith("\n")
    assert lines.read(file) == [{"round": 0, "accuracy": 0.5}]
    lines.shorten(file, lines.size_below(file, 1))
    lines.append(file, {"round": 1, "accuracy": 0.75})
    assert [record["round"] for record in lines.read(file)] == [0, 1]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_who_may_read_a_new_file_is_up_to_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    file = tmp_path / "file"
    before = os.umask(umask)
    try:
        write_atomically(file, b"")
        lines.append(tmp_path / "lines.jsonl", {"round": 0})
    finally:
        os.umask(before)
    assert (
        stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE((tmp_path / "lines.jsonl").stat().st_mode) == mode
    )
    file.chmod(0o640)
    write_atomically(file, b"more")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "file").write_bytes(b"before")
    (tmp_path / "link").symlink_to("far/file")
    write_atomically(tmp_path / "link", b"after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "file").read_bytes() == b"after"
    assert [each.name for each in (tmp_path / "far").iterdir()] == ["file"]


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, b"content")
    reader.join()
    assert found == [b"content"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_leftovers_of_a_kill_are_removed_and_nothing_else(tmp_path: Path) -> None:
    ours = (
        ".certified.json.fedward-0123456789abcdef.part",
        ".checkpoint-shadow-001.pt.fedward-fedcba9876543210.part",
    )
    theirs = (
        *(".lock", ".notes.txt", ".run.json.bak", ".block.of-mine.txt", "run.json"),
        *(".ledger.json.backup", ".model.pt.original", ".run.json.abcdefgh", ".result.of_mine"),
        *(".film.0123456789abcdef.part", ".run.json.fedward-0123456789abcdef.part.txt"),
    )
    for name in (*ours, *theirs):
        (tmp_path / name).write_text("")
    (tmp_path / ".directory.json.fedward-0123456789abcdef.part").mkdir()
    remove_leftovers(tmp_path)
    left_there = {file.name for file in tmp_path.iterdir() if file.is_file()}
    assert left_there == set(theirs)


def test_a_second_process_is_still_told_that_the_directory_is_in_use(tmp_path: Path) -> None:
    with open_run(tmp_path / "run"):
        with (
            pytest.raises(InvalidValue, match="is in use by another process") as caught,
            open_run(tmp_path / "run"),
        ):
            pass
        assert not isinstance(caught.value, CannotWrite)


def test_a_run_directory_is_rid_of_leftovers_when_it_is_opened(tmp_path: Path) -> None:
    """Whatever kind of run it is: those of a sweep have nobody else to do it."""
    (tmp_path / ".sweep.json.fedward-0123456789abcdef.part").write_text("{")
    with open_run(tmp_path):
        assert [file.name for file in tmp_path.glob(".*.part")] == []


@pytest.mark.parametrize("name", ["model.pt", "rounds.jsonl", "telemetry.jsonl", "labels.npz"])
def test_files_of_somebody_elses_are_not_written_over_by_a_run(tmp_path: Path, name: str) -> None:
    """They have the names that a run writes to, but no run.json says that a run wrote them."""
    (tmp_path / name).write_text("of mine")
    with pytest.raises(InvalidValue, match=rf"holds {name} but no run\.json: not a run to go on with"):
        run_to_end(setup_for(algorithm=PRIVATE, rounds=1), tmp_path)
    assert (tmp_path / name).read_text() == "of mine"
    assert {file.name for file in tmp_path.iterdir()} == {name, ".lock"}
