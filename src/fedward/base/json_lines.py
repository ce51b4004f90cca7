"""Files of one JSON object a line, one line a round, that a kill may cut off anywhere."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from fedward.base.durable_files import explain_write_errors, write_whole
from fedward.base.interrupts import hold_signals
from fedward.base.validate import InvalidValue


def _record(path: Path, line: str | bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InvalidValue(f"{path} is damaged and cannot be read: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("round"), int):
        raise InvalidValue(f"{path} is damaged: a line must be an object with a round, got {line!r:.60}")
    return record


def append(path: Path, record: dict[str, Any]) -> None:
    """Adds a record."""
    line = json.dumps(replace_non_finite(record), allow_nan=False) + "\n"
    with hold_signals(), explain_write_errors(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            write_whole(descriptor, line.encode())
        finally:
            os.close(descriptor)


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
    """All whole records; a last line that a kill cut off is not one."""
    if not path.exists():
        return []
    whole_lines = path.read_text(encoding="utf8").split("\n")[:-1]
    return [_record(path, line) for line in whole_lines]


def cut(path: Path, rounds: int) -> None:
    """Keeps the records of rounds below ``rounds`` and drops the rest, a cut-off line included.

    The file is shortened in place, so a kill leaves it as it was or shortened.
    """
    if not path.exists():
        return
    kept = 0
    with explain_write_errors(path), path.open("rb+") as file:
        for line in file:
            if not line.endswith(b"\n") or _record(path, line)["round"] >= rounds:
                break
            kept += len(line)
        file.truncate(kept)
        os.fsync(file.fileno())
