"""The files of a run directory, all of which are written here: their digests first, then what they hold."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedward.base import json_lines as lines
from fedward.base.arrays_file import Arrays, arrays_bytes
from fedward.base.durable_files import (
    explain_write_errors,
    remove,
    sync_directory,
    sync_file,
    write_atomically,
    write_whole,
)
from fedward.base.interrupts import hold_signals
from fedward.base.limited_files import read_limited
from fedward.rundir.digest_log import (
    NAME,
    Changes,
    DigestLog,
    FileState,
    change_line,
    parse_log,
    whole_log,
)
from fedward.rundir.run_file_names import is_own, made_again

_CHUNK = 1 << 20
EMPTY = FileState.of(b"")
# Lines of the log before it is written anew; and twice as many as it has files, so that logs of many files
# are not rewritten over and over.
_LONGEST = 256


@dataclass(frozen=True, kw_only=True)
class Write:
    """A file gets this content, in one step that nothing can split."""

    name: str
    content: bytes
    private: bool = False


@dataclass(frozen=True, kw_only=True)
class Append:
    """A file of JSON lines gets one more."""

    name: str
    record: Mapping[str, Any]
    private: bool = False


class RunFiles:
    """Writes the files of one directory, under its lock.

    What a file is about to become is in ``digests.jsonl``, durably, before the file is touched; a kill
    between the two leaves a file that is right as it was (``digest_log``). A directory of an earlier version,
    without digests, gets them with its first change.

    Files that grow by lines are hashed as they grow: no line is read again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log: DigestLog | None = None
        self._identity: tuple[int, int] | None = None
        self._hashes: dict[str, tuple[FileState, hashlib._Hash]] = {}
        self._unfinished = False

    def settle(self) -> None:
        """States what became of changes that a kill interrupted, before a run goes on."""
        if not (self.path / NAME).exists():
            return
        log = self._current()
        # What the same command makes again may be removed to have it made again.
        gone = {name: None for name in log.files if made_again(name) and not (self.path / name).exists()}
        if self._unfinished or gone:
            self._settle(gone)

    def close(self) -> None:
        """Makes the log short: all that was announced is done."""
        if not (self.path / NAME).exists():
            return
        log = self._current()
        if self._unfinished:
            self._settle({})
        if self._current().lines > 2:
            self._rewrite(self._current().files, adopted=log.adopted)

    def write(self, name: str, content: bytes, *, private: bool = False) -> None:
        """Replaces a file; see ``write_atomically``."""
        self.change(Write(name=name, content=content, private=private))

    def write_if_changed(self, name: str, content: bytes) -> None:
        """Writes a file unless it is there and holds the same."""
        file = self.path / name
        if not file.exists() or file.read_bytes() != content or not self._knows(name, content):
            self.write(name, content)

    def write_arrays(self, name: str, arrays: Arrays) -> None:
        """Writes named arrays, for their owner alone: they are about examples."""
        self.write(name, arrays_bytes(arrays), private=True)

    def append(self, name: str, record: Mapping[str, Any], *, private: bool = False) -> None:
        """Adds a line to a file of JSON lines."""
        self.change(Append(name=name, record=record, private=private))

    def change(self, *changes: Write | Append) -> None:
        """Makes changes of different files, in this order, that are announced together."""
        after: dict[str, FileState | None] = {}
        hashes: dict[str, tuple[FileState, hashlib._Hash]] = {}
        for each in changes:
            if isinstance(each, Write):
                after[each.name] = FileState.of(each.content)
            else:
                hashes[each.name] = self._with_line(each)
                after[each.name] = hashes[each.name][0]

        def carry_out() -> None:
            for each in changes:
                if isinstance(each, Write):
                    write_atomically(self.path / each.name, each.content, private=each.private)
                else:
                    lines.append(self.path / each.name, dict(each.record), private=each.private)

        self._announce(after, carry_out)
        self._hashes |= hashes

    def cut(self, name: str, rounds: int) -> None:
        """Keeps the lines of rounds below ``rounds`` of a file of JSON lines."""
        file = self.path / name
        size = lines.size_below(file, rounds)
        if not file.exists() or size == file.stat().st_size:
            return
        with file.open("rb") as opened:
            state = FileState.of(opened.read(size))
        self._announce({name: state}, lambda: lines.shorten(file, size))

    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""
        file = self.path / name

        def carry_out() -> None:
            remove(file)
            with explain_write_errors(file):
                sync_directory(self.path)

        if file.exists():
            self._announce({name: None}, carry_out)

    def note_members(self, names: list[str]) -> None:
        """Takes the digests of the digests of runs in directories below: which runs these are."""
        logs = [f"{name}/{NAME}" for name in names if (self.path / name / NAME).is_file()]
        found: dict[str, FileState | None] = {name: state_of(self.path / name) for name in logs}
        known = self._current().files if (self.path / NAME).exists() else {}
        if changed := {name: state for name, state in found.items() if known.get(name) != state}:
            self._announce(changed, lambda: None)

    def renew(self) -> None:
        """Takes the digests of all files as they are now, whatever they were before."""
        self._sync(present := self._present())
        self._rewrite(present, adopted=True)

    def _announce(self, changes: Changes, carry_out: Callable[[], None]) -> None:
        if not (self.path / NAME).exists():
            # Files of an earlier version; none in a new directory.
            self._sync(present := self._present())
            self._rewrite(present, adopted=bool(present))
        log = self._current()
        if self._unfinished:
            self._settle({})
            log = self._current()
        if log.lines > _LONGEST + 2 * len(log.files):
            self._rewrite(log.files, adopted=log.adopted)
            log = self._current()
        self._unfinished = True
        self._add_line(log, changes)
        carry_out()
        self._unfinished = False

    def _settle(self, gone: Changes) -> None:
        """States what the files are that the last line was about; damaged ones stay as announced."""
        log = self._current()
        if log.cut_off:
            lines.shorten(self.path / NAME, log.size)
            log = self._read()
        found: dict[str, FileState | None] = dict(gone)
        for name, old in log.before.items():
            file, new = self.path / name, log.files.get(name)
            state = state_of(file)
            if state != new and state != old and is_cut_off(file, old, new):
                state = old = old or EMPTY
                lines.shorten(file, old.size)
            if state == old:
                found[name] = old
        # Whoever was killed may have written without having it on disk.
        self._sync(log.before)
        self._add_line(log, found, settled=True)
        self._unfinished = False

    def _add_line(self, log: DigestLog, changes: Changes, *, settled: bool = False) -> None:
        line, check = change_line(changes, log.check, settled=settled)
        file = self.path / NAME
        with hold_signals(), explain_write_errors(file):
            descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            try:
                write_whole(descriptor, line)
            finally:
                os.close(descriptor)
        files, announced = dict(log.files), log.announced
        for name, state in changes.items():
            if state is None:
                files.pop(name, None)
            else:
                files[name] = state
        before = {} if settled else {name: log.files.get(name) for name in changes}
        self._log = DigestLog(
            files=files,
            before=before,
            adopted=log.adopted,
            lines=log.lines + 1,
            size=log.size + len(line),
            check=check,
            announced=announced,
        )
        self._identity = self._identify()

    def _sync(self, names: Iterable[str]) -> None:
        """Makes files durable as they are, and their names."""
        with explain_write_errors(self.path):
            for name in names:
                with suppress(FileNotFoundError):
                    sync_file(self.path / name)
            sync_directory(self.path)

    def _rewrite(self, files: Mapping[str, FileState], *, adopted: bool) -> None:
        # Whoever has the digest of run.json can try seeds.
        write_atomically(self.path / NAME, whole_log(files, adopted=adopted), private=True)
        self._read()

    def _current(self) -> DigestLog:
        """What the log says; read again if another process, or object, has written it."""
        if self._log is None or self._identity != self._identify():
            return self._read()
        return self._log

    def _read(self) -> DigestLog:
        file = self.path / NAME
        self._log = log = parse_log(read_limited(file), str(file))
        self._identity = self._identify()
        # Of a process that was killed, or of another object that is done with it: nobody knows.
        self._unfinished = bool(log.before) or log.cut_off
        return log

    def _identify(self) -> tuple[int, int]:
        found = (self.path / NAME).stat()
        return found.st_ino, found.st_size

    def _knows(self, name: str, content: bytes) -> bool:
        return (self.path / NAME).exists() and self._current().files.get(name) == FileState.of(content)

    def _with_line(self, added: Append) -> tuple[FileState, hashlib._Hash]:
        """What a file is with one more line."""
        known = self._current().files.get(added.name) if (self.path / NAME).exists() else None
        state, running = self._hashes.get(added.name, (None, None))
        if running is None or state != known:
            file = self.path / added.name
            content = file.read_bytes() if file.exists() else b""
            state, running = FileState.of(content), hashlib.sha256(content)
        assert state is not None
        line, running = lines.encode(added.record), running.copy()
        running.update(line)
        return FileState(state.size + len(line), running.hexdigest()), running

    def _present(self) -> dict[str, FileState]:
        """The files that are there and that fedward writes."""
        found = {}
        for file in sorted(self.path.iterdir()):
            if is_own(file.name) and file.is_file() and (state := state_of(file)) is not None:
                found[file.name] = state
        return found


def state_of(file: Path) -> FileState | None:
    """What is in a file, read a little at a time; None if there is none."""
    digest, size = hashlib.sha256(), 0
    try:
        with file.open("rb") as opened:
            while chunk := opened.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
    except FileNotFoundError:
        return None
    return FileState(size, digest.hexdigest())


def begins_as(file: Path, state: FileState) -> bool:
    """Whether the first bytes of a file are all of what it was."""
    with file.open("rb") as opened:
        return FileState.of(opened.read(state.size)) == state


def is_cut_off(file: Path, old: FileState | None, new: FileState | None) -> bool:
    """Whether a file that should have grown was interrupted on the way."""
    if new is None or not file.name.endswith(".jsonl") or not file.exists():
        return False
    old = old or EMPTY
    return old.size <= file.stat().st_size <= new.size and begins_as(file, old)
