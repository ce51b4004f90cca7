"""A lock that keeps a second process out of what one is writing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from fedward.base.durable_files import explain_write_errors, make_directory
from fedward.base.validate import InvalidValue


@contextmanager
def hold_lock(file: Path, path: Path, kind: str = "") -> Iterator[None]:
    """Holds a lock for as long as it lasts; raises at once if somebody else has it.

    Args:
      file: the lock. It stays when all is done: removed, it could be held by two at once.
      path: what is locked, as it is called in messages.
      kind: what that is, such as ``run directory``.
    """
    if file.is_symlink():  # what it leads to would be emptied
        raise InvalidValue(
            f"{file} must be a plain file, got a symbolic link: remove it if you trust the rest"
        )
    lock = FileLock(file, timeout=0)
    with explain_write_errors(f"{kind} {path}".strip()):
        make_directory(file.parent)
        try:
            lock.acquire()
        except Timeout:
            raise InvalidValue(f"{path} is in use by another process") from None
    try:
        yield
    finally:
        lock.release()
