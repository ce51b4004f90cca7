"""Files of one JSON object a line, one line a round, that a kill may cut off anywhere."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

from fedward.base.durable_files import PRIVATE, explain_write_errors, sync_directory, write_whole
from fedward.base.interrupts import hold_signals
from fedward.base.limited_files import TooLarge, limited_lines, size_text
from fedward.base.strict_json import require_modest
from fedward.base.validate import InvalidValue

_MOST_RECORDS = 10**6
"""A training has at most so many rounds."""
_LARGEST = 1 << 30


def _at_most(found: Iterable[bytes], path: Path) -> Iterator[bytes]:
    """The lines of a file, as long as there are no more than any training writes."""
    size = 0
    for number, line in enumerate(found):
        size += len(line)
        if number >= _MOST_RECORDS or size > _LARGEST:
            raise TooLarge(
                f"{path} must hold at most {_MOST_RECORDS:,} lines and {size_text(_LARGEST)}, got more"
            )
        yield line


def _record(path: Path, line: bytes) -> dict[str, Any]:
    try:
        text = str(line, "utf8")
        require_modest(text, str(path))
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"{path} is damaged and cannot be read: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("round"), int):
        raise InvalidValue(f"{path} is damaged: a line must be an object with a round, got {line!r:.60}")
    return record


def encode(record: Mapping[str, Any]) -> bytes:
    """The line of a record."""
    return (json.dumps(replace_non_finite(dict(record)), allow_nan=False) + "\n").encode()


def append(path: Path, record: Mapping[str, Any], *, private: bool = False) -> None:
    """Adds a record; a ``private`` file is for its owner alone, from now on if it was not before."""
    new = not path.exists()
    with hold_signals(), explain_write_errors(path):
        mode = PRIVATE if private else 0o666
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode)
        try:
            if private:
                with suppress(OSError):  # a file system that has no modes, or somebody else's file
                    os.fchmod(descriptor, PRIVATE)
            write_whole(descriptor, encode(record))
        finally:
            os.close(descriptor)
        if new:
            sync_directory(path.parent)


def replace_non_finite(value: Any) -> Any:
    """The value with null for every number that JSON does not have.

    >>> replace_non_finite({"bounds": (float("inf"),), "loss": 0.5})
    {'bounds': [None], 'loss': 0.5}
    """
    if isinstance(value, dict):
        return {key: replace_non_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_non_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read(path: Path) -> list[dict[str, Any]]:
    """All whole records; a last line that a kill cut off, or a loss of power left holes in, is not one."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        found = _at_most(limited_lines(file, path), path)
        return [_record(path, line) for line in found if not _is_torn(line, file)]


def _is_torn(line: bytes, file: BufferedReader) -> bool:
    """Whether it is the last line and was never synced: it has no end, or zeros that nobody wrote."""
    return (not line.endswith(b"\n") or b"\0" in line) and not file.peek(1)


def size_below(path: Path, rounds: int) -> int:
    """How many bytes the records of rounds below ``rounds`` are; a cut-off line is none."""
    kept = 0
    if path.exists():
        with path.open("rb") as file:
            for line in limited_lines(file, path):
                if _is_torn(line, file) or _record(path, line)["round"] >= rounds:
                    break
                kept += len(line)
    return kept


def shorten(path: Path, size: int) -> None:
    """Keeps the first bytes of a file, in place: a kill leaves it as it was or shortened."""
    with explain_write_errors(path), path.open("rb+") as file:
        os.ftruncate(file.fileno(), size)
        os.fsync(file.fileno())
