from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedward.base.durable_files import write_atomically, write_if_changed


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_that_holds_the_same_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "claims.json"
    write_if_changed(file, b"one")
    first = file.stat()
    write_if_changed(file, b"one")
    # Whatever is written gets a file of its own.
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (first.st_ino, first.st_mtime_ns)
    write_if_changed(file, b"another")
    assert file.read_bytes() == b"another"


@pytest.mark.usefixtures("no_umask")
def test_a_private_file_is_never_wider_and_neither_is_its_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    opened = os.open

    def watch(path: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = opened(path, flags, mode)
        if flags & os.O_CREAT:
            made.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return descriptor

    monkeypatch.setattr(os, "open", watch)
    write_atomically(tmp_path / "checkpoint.pt", b"state", private=True)
    write_atomically(tmp_path / "model.pt", b"released")
    assert made == [0o600, 0o666]
    assert (mode_of(tmp_path / "checkpoint.pt"), mode_of(tmp_path / "model.pt")) == (0o600, 0o666)


def test_a_file_that_was_wider_is_narrowed_when_it_is_written_again(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_bytes(b"one")
    file.chmod(0o664)
    write_atomically(file, b"two")
    assert mode_of(file) == 0o664
    write_atomically(file, b"three", private=True)
    assert (mode_of(file), file.read_bytes()) == (0o600, b"three")
    file.chmod(0o644)
    write_if_changed(file, b"three", private=True)
    assert mode_of(file) == 0o600


def test_a_reader_has_the_old_file_or_the_new_one_and_never_a_part(tmp_path: Path) -> None:
    """The new content is a file of its own that takes the name over: nothing is written into the old one."""
    file = tmp_path / "ledger.json"
    write_atomically(file, b"the old content")
    with file.open("rb") as reading:
        write_atomically(file, b"new")
        assert reading.read() == b"the old content"
    assert file.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["ledger.json"]
