"""Files that are there whole or not at all, and one clear line where they cannot be written."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fedward.base.interrupts import hold_signals
from fedward.base.validate import InvalidValue

# What `write_atomically` may leave behind when it is killed. Its name is one that nobody else gives.
_LEFTOVER = re.compile(r"\.(.+)\.fedward-[0-9a-f]{16}\.part")

PRIVATE = 0o600
"""The mode of files that are for their owner alone: seeds, states, cohorts, what is known of single users."""

_FREE = "free some space, then give the same command again"
_ELSEWHERE = "choose another place, or make this one writable, then give the command again"
_REMEDIES = {
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), then give the same command again",
    errno.EROFS: _ELSEWHERE,
    errno.EACCES: _ELSEWHERE,
    errno.EPERM: _ELSEWHERE,
    errno.ENOENT: "make the directory first, or choose another place",
    errno.EEXIST: "a file has that name: choose another place",
    errno.ENOTDIR: "what should be a directory is a file: choose another place",
    errno.EISDIR: "a directory has that name: give the name of a file in it",
}


class CannotWrite(InvalidValue):
    """The system refused to write a file. What was written before is whole, and can be gone on with."""


@contextmanager
def explain_write_errors(what: str | Path) -> Iterator[None]:
    """Turns what the system says into one line: what could not be written, why, and what to do.

    >>> with explain_write_errors("runs/first/ledger.json"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    fedward.base.durable_files.CannotWrite: runs/first/ledger.json cannot be written: No space left on \
device; free some space, then give the same command again
    """
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0)
        reason = f"{error.strerror or error}{f'; {remedy}' if remedy else ''}"
        raise CannotWrite(f"{what} cannot be written: {reason}") from error


def write_atomically(path: Path, content: bytes, *, private: bool = False) -> None:
    """Replaces a file in one step that a kill, a power cut or a full disk cannot split.

    The content is on disk before it gets the file's name, and the name is on disk before this returns. Who
    may read a new file is up to the umask; one that is there keeps its mode. A ``private`` file is for its
    owner alone from the moment it is made, whatever the umask says and whatever it was before. A link stays
    one, and what is no file, such as ``/dev/stdout``, is written to as it is.
    """
    with hold_signals(), explain_write_errors(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as opened:
                opened.write(content)
            return
        place = Path(os.path.realpath(path)) if path.is_symlink() else path
        temporary = _beside(place)
        try:
            mode = PRIVATE if private else 0o666
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            try:
                if not private:
                    _keep_mode(place, descriptor)
                write_whole(descriptor, content)
            finally:
                os.close(descriptor)
            os.replace(temporary, place)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_directory(place.parent)


def write_if_changed(path: Path, content: bytes, *, private: bool = False) -> None:
    """Writes a file unless it is there and holds the same; a private one is made private in any case."""
    same = path.exists() and path.stat().st_size == len(content) and path.read_bytes() == content
    if not same or (private and stat.S_IMODE(path.stat().st_mode) & ~PRIVATE):
        write_atomically(path, content, private=private)


def write_whole(descriptor: int, content: bytes) -> None:
    """Writes all of it, and returns when it is on disk."""
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


def require_writable(path: Path) -> None:
    """Makes the directory of a file, and says now what would be said when hours of work are to be stored."""
    with explain_write_errors(path):
        make_directory(path.parent)
        attempt = _beside(path)
        os.close(os.open(attempt, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        attempt.unlink()


def _beside(path: Path) -> Path:
    return path.parent / f".{path.name}.fedward-{secrets.token_hex(8)}.part"


def _keep_mode(place: Path, descriptor: int) -> None:
    with suppress(OSError):  # there is no such file yet, or a file system that has no modes
        os.fchmod(descriptor, stat.S_IMODE(place.stat().st_mode))


def sync_directory(directory: Path) -> None:
    """Makes new names in a directory durable."""
    sync_file(directory)


def sync_file(file: Path) -> None:
    """Makes what somebody else wrote into a file durable."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(directory: Path) -> None:
    """Makes a directory, and those above it that are missing; their names are durable when this returns.

    Otherwise a power cut could take a run with its ledger, and what was released by it would be forgotten.
    """
    missing = [each for each in directory.parents if not each.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    # The directory's own name in any case: whoever made it may have been killed before.
    for each in (directory, *missing):
        with suppress(PermissionError):  # it may be one that we must not list
            sync_directory(each.parent)


def remove(path: Path) -> None:
    """Removes a file that is not needed any more, if it is there."""
    with explain_write_errors(path):
        path.unlink(missing_ok=True)


def remove_leftovers(directory: Path, name: str | None = None) -> None:
    """Removes what a kill in the middle of ``write_atomically`` left behind, and nothing else.

    ``name`` is the file that was to be written; any if it is not given. Whoever asks holds the lock, so that
    nobody is writing there now.
    """
    for file in directory.glob(".*.part"):
        match = _LEFTOVER.fullmatch(file.name)
        if match is not None and name in (None, match[1]) and file.is_file():
            remove(file)
