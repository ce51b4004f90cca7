"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from fedward.experiment.interrupts import held

_WRITTEN = (
    *("checkpoint", "ledger", "users", "result", "run", "model"),
    *("block", "labels", "scores", "sums"),
)


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces a file in one step that a kill or a power cut cannot split.

    The content is on disk before it gets the file's name, and the name is on disk before this returns.
    """
    with held():
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Makes new names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(directory: Path) -> None:
    """Removes what a kill in the middle of ``write_atomically`` left behind."""
    for leftover in directory.glob(".*.*"):
        if leftover.is_file() and leftover.name.startswith(tuple(f".{name}" for name in _WRITTEN)):
            leftover.unlink()
