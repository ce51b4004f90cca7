"""The kind of a directory, as its files show it: that of a run, of a sweep, or of neither."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue

SWEPT = "swept.json"
"""The file that a sweep writes first: what it is about."""

_TRAINING = re.compile(r".+,seed=\d+")


def kind_of(path: Path) -> str:
    """What a directory is of, in words; empty if it is neither of a run nor of a sweep."""
    if (path / "run.json").is_file():
        return _kind_of_run(path / "run.json")
    return "a sweep" if _is_of_sweep(path) else ""


def require_run(path: Path) -> None:
    """Raises unless this is the directory of a run."""
    if (path / "run.json").is_file():
        return
    if not path.exists():
        found = "none: there is no such directory"
    elif not path.is_dir():
        found = "a file"
    elif _is_of_sweep(path):
        found = "that of a sweep: give one of the directories in it"
    else:
        found = "one without run.json"
    raise InvalidValue(f"{path} must be the directory of a run, got {found}")


def _is_of_sweep(path: Path) -> bool:
    """Whether a sweep has begun here. Those of fedward 0.1 are known by their end, or by their trainings."""
    if any((path / name).is_file() for name in (SWEPT, "sweep.json")):
        return True
    return any(_TRAINING.fullmatch(file.parent.name) for file in path.glob("*/run.json"))


def _kind_of_run(file: Path) -> str:
    try:
        content: Any = json.loads(file.read_text(encoding="utf8"))
    except (ValueError, RecursionError):
        return "a run"  # a damaged one
    experiment = content.get("experiment") if isinstance(content, dict) else None
    if isinstance(experiment, dict) and "variants" in experiment:
        return "many replicas"
    if isinstance(experiment, dict) and "inference" in experiment:
        return "an inference attack"
    return "a run"
