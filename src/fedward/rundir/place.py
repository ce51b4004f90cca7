"""The kind of a directory, as its files show it: that of a run, of a sweep, or of neither."""

from __future__ import annotations

import re
from pathlib import Path

from fedward.base.limited_files import read_text
from fedward.base.strict_json import parse
from fedward.base.validate import InvalidValue

SWEPT = "swept.json"
"""The file that a sweep writes first: what it is about."""

# Whose these are only run.json says, for single runs, many replicas, inference attacks and audits. Where it
# is not
# there they are somebody else's, and would be written over.
_RESULTS = (
    *("checkpoint*.pt", "ledger.json", "users.json", "result.json"),
    *("block.pt", "sums.npz", "scores-*.npz", "ahead-*.npz", "seen-*.npz"),
    *("rounds.jsonl", "telemetry.jsonl", "model.pt", "labels.npz"),
)
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
        found = "none: there is no such directory; fedward runs lists those in runs/"
    elif not path.is_dir():
        found = "a file; give the directory that a command has written, such as runs/NAME"
    elif _is_of_sweep(path):
        found = "that of a sweep: give one of the directories in it"
    else:
        found = "one without run.json; fedward runs lists those in runs/"
    raise InvalidValue(f"{path} must be the directory of a run, got {found}")


def require_no_run(path: Path) -> None:
    """Raises if something of another run, or a sweep, is here, where there is no run.json."""
    found = [each.name for pattern in _RESULTS for each in sorted(path.glob(pattern))]
    if found:
        raise InvalidValue(
            f"{path} holds {found[0]} but no run.json: not a run to go on with; choose another directory "
            "with --out"
        )
    if kind := kind_of(path):
        raise InvalidValue(
            f"{path} must be empty or of this run, got the directory of {kind}; choose another with --out"
        )


def _is_of_sweep(path: Path) -> bool:
    """Whether a sweep has begun here. Those of fedward 0.1 are known by their end, or by their trainings."""
    if any((path / name).is_file() for name in (SWEPT, "sweep.json")):
        return True
    return any(_TRAINING.fullmatch(file.parent.name) for file in path.glob("*/run.json"))


def _kind_of_run(file: Path) -> str:
    try:
        experiment = parse(read_text(file), str(file))["experiment"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return "a run"  # a damaged one
    kinds = {"variants": "many replicas", "inference": "an inference attack", "audit": "an audit"}
    found = [kind for key, kind in kinds.items() if isinstance(experiment, dict) and key in experiment]
    return found[0] if found else "a run"
