"""The directory of a sweep, read into values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedward.base.table_rows import frame
from fedward.base.validate import InvalidValue
from fedward.privacy import Guarantee
from fedward.rundir.damage import NO_DIGESTS, Digests, require_undamaged
from fedward.rundir.file_record import json_object
from fedward.rundir.own_files import require_own_files
from fedward.rundir.place import SWEPT
from fedward.rundir.results import TrainingResult
from fedward.rundir.run_file_names import is_needed
from fedward.rundir.spent import require_number
from fedward.rundir.store import RunDirectory

ABOUT = ("epsilon", "delta", "unit", "adjacency", "accountant")
"""The columns of a guarantee in a table."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepRecord:
    """A finished run of ``fedward sweep``.

    Attributes:
      path: its directory.
      combinations: as in ``sweep.json``: labels, ε and means with intervals, one for each combination.
      digests: whether its files were compared with their digests, or damage cannot be noticed.
    """

    path: Path
    combinations: tuple[dict[str, Any], ...]
    digests: Digests = NO_DIGESTS

    @property
    def runs(self) -> tuple[Path, ...]:
        """The directories of all its trainings, for ``fedward.load``."""
        return tuple(self.path / name for each in self.combinations for name in each["runs"])

    def table_rows(self) -> list[dict[str, Any]]:
        """One row for each combination."""
        hidden = ("runs", "values")
        return [{k: v for k, v in each.items() if k not in hidden} for each in self.combinations]

    def to_pandas(self) -> Any:
        """The same as a table of pandas."""
        return frame(self.table_rows())


def is_sweep(path: Path) -> bool:
    """Whether a directory is that of a sweep which has come to its end."""
    return (path / "sweep.json").is_file()


def read_sweep_record(path: Path) -> SweepRecord:
    """Reads the directory of a finished sweep.

    Args:
      path: the directory that ``fedward sweep`` wrote.
    """
    require_own_files(path)
    file = path / "sweep.json"
    found = (json_object(file) or {}).get("combinations")
    if not isinstance(found, list) or not found or not all(_is_complete(each) for each in found):
        raise InvalidValue(f"{file} is damaged: it must list combinations with their runs")
    combinations = tuple(_check_combination(each, path) for each in found)
    digests = require_undamaged(path, has_digests=sweep_has_digests(path))
    return SweepRecord(path=path, combinations=combinations, digests=digests)


def sweep_has_digests(path: Path) -> bool:
    """Whether a sweep says that it has digests."""
    return "digests" in (json_object(path / SWEPT) or {})


def require_sweep_undamaged(path: Path) -> None:
    """Raises if what a sweep goes on from, its trainings aside, is not as it was written.

    What is swept may be missing: the same command writes it again, and every training is checked by itself.
    """
    require_undamaged(
        path,
        has_digests=sweep_has_digests(path),
        needed=is_needed,
        may_be_missing=lambda name: name == SWEPT,
    )


def _check_combination(combination: dict[str, Any], path: Path) -> dict[str, Any]:
    """A combination with the ε of its runs, each from its own ledger; raises if the table states another."""
    results: list[TrainingResult] = []
    for name in combination["runs"]:
        run = RunDirectory(path / name)
        result = run.result() if (path / name / "run.json").is_file() else None
        if (path / name / "run.json").is_file():
            run.require_shown_undamaged(run.manifest())
        if result is None:
            nothing = dict.fromkeys(ABOUT)
            return combination | nothing | {"statement": f"no ε: {path / name} holds no finished run"}
        assert isinstance(result, TrainingResult)  # a sweep makes no other
        results.append(result)
    if not results:
        return combination
    place = place_of_weakest(results)
    found = guarantee_columns(results[place].guarantee)
    if "epsilon" in combination:
        ledger = path / combination["runs"][place] / "ledger.json"
        require_number("epsilon", combination["epsilon"], found["epsilon"], path / "sweep.json", ledger)
    return combination | found | {"statement": results[place].statement}


def place_of_weakest(results: Sequence[TrainingResult]) -> int:
    """The place of the result whose guarantee holds for all of them: there is no mean of guarantees."""
    # None at all has an infinite ε.
    return max(range(len(results)), key=lambda place: results[place].guarantee.epsilon)


def guarantee_columns(guarantee: Guarantee) -> dict[str, Any]:
    """The ε of a combination and what it is about; nothing where there is none."""
    return {key: getattr(guarantee, key) if guarantee.private else None for key in ABOUT}


def _is_complete(combination: Any) -> bool:
    runs = combination.get("runs") if isinstance(combination, dict) else None
    return isinstance(runs, list) and all(isinstance(name, str) for name in runs)
