"""Finished blocks of replicas whose turn has not come, as those before them are missing.

ahead-START-STOP.npz    what replicas START to STOP - 1 say; ``scores-START-STOP.npz`` once they are next
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fedward.base.arrays_file import Arrays
from fedward.base.validate import InvalidValue
from fedward.rundir.run_files import RunFiles

_NAME = re.compile(r"ahead-(\d+)-(\d+)\.npz")

Ahead = tuple[int, int, Path]
"""First replica, replica after the last, and file."""


def blocks_ahead(path: Path) -> list[Ahead]:
    """Those in a run directory, in the order of their replicas; none may be there twice."""
    found = sorted(
        (int(match[1]), int(match[2]), file)
        for file in path.glob("ahead-*.npz")
        if (match := _NAME.fullmatch(file.name))
    )
    before = 0
    for start, stop, file in found:
        if start < before or stop <= start:
            raise InvalidValue(
                f"{path} must hold each replica once, got replica {start} again in {file.name}"
            )
        before = stop
    return found


def write_ahead(files: RunFiles, start: int, stop: int, arrays: Arrays) -> None:
    """Stores a block whose turn has not come."""
    files.write_arrays(f"ahead-{start:06d}-{stop:06d}.npz", arrays)


def gaps(start: int, stop: int, there: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The replicas from ``start`` to ``stop`` - 1 that are in none of these spans.

    >>> gaps(0, 10, [(2, 4), (7, 9)])
    [(0, 2), (4, 7), (9, 10)]
    """
    found = []
    for first, last in sorted(there):
        if start < min(first, stop):
            found.append((start, min(first, stop)))
        start = max(start, last)
    return [*found, (start, stop)] if start < stop else found
