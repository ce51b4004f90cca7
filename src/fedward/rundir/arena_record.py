"""The directory of an arena: what ``arena.json`` holds, and the same read into values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from fedward.base.table_rows import frame
from fedward.base.validate import InvalidValue
from fedward.rundir.damage import NO_DIGESTS, Digests, require_undamaged
from fedward.rundir.file_record import FileRecord, json_object
from fedward.rundir.own_files import require_own_files
from fedward.rundir.results import Mean, TrainingResult
from fedward.rundir.store import RunDirectory
from fedward.rundir.sweep_record import ABOUT, sweep_has_digests

ARENA, SECONDS = "arena.json", "seconds.json"
_REMEDY = "remove it, and the same command makes it again"


class AttackAbout(FileRecord):
    """An attack: its name, and whether it is made for the defence that it meets."""

    name: str
    adapts: bool = False


class DefenceAbout(FileRecord):
    """A defence: its name, the preset, which attack knows it, and what even that attack is without."""

    name: str
    preset: str
    adaptive_attack: str | None = None
    adaptive_without: list[str] = Field(default_factory=list)


class RefusedCell(FileRecord):
    """A cell that was not trained, and why."""

    data: str
    defence: str
    attack: str
    why: str


class ArenaAbout(FileRecord):
    """What meets in an arena. The first attack is no attack, the first defence plain averaging.

    ``data`` has one name, an empty one, where there is one kind.
    """

    attacks: list[AttackAbout]
    defences: list[DefenceAbout]
    data: list[str]
    seeds: list[int]
    refused: list[RefusedCell]


class CellResult(FileRecord):
    """What was measured in one cell.

    Args:
      data, defence, attack: the cell.
      seeds, runs: of its trainings: their seeds and directories. None where it has not been trained.
      epsilon, delta, unit, adjacency, accountant: of the training with the largest ε; None where there is
        none. ``statement`` is the whole.
      accuracy, attack_success: means over seeds.
      lost: accuracy of the same defence that nobody attacks, minus this, seed by seed.
      behind_plain: accuracy of plain averaging that nobody attacks, minus this, seed by seed.
    """

    data: str
    defence: str
    attack: str
    seeds: list[int]
    runs: list[str]
    epsilon: float | None = None
    delta: float | None = None
    unit: str | None = None
    adjacency: str | None = None
    accountant: str | None = None
    statement: str = ""
    accuracy: Mean | None = None
    attack_success: Mean | None = None
    lost: Mean | None = None
    behind_plain: Mean | None = None


class Worst(FileRecord):
    """The worst of some attacks: the one with the worst mean, and an interval for the worst of all means.

    The interval holds for having chosen it (see ``rundir.arena_table``). Ranks are 1 for the best; both are
    None where there is no interval, or where not every attack was tried.
    """

    attack: str
    value: float
    low: float | None
    high: float | None
    first_rank: int | None = None
    last_rank: int | None = None


class Standing(FileRecord):
    """How a defence stands on one kind of data.

    Args:
      data, defence: of what.
      attacks, tried: how many attacks there are, and how many of them it met.
      epsilon, delta, statement: while nobody attacks.
      void_under: the attacks that leave nothing of its ε.
      accuracy, behind_plain: while nobody attacks.
      worst_accuracy, worst_success: over the attacks that it met.
      adaptively: whether an attack that is made for it was among them.
      adaptive_attack: the attack on updates that knows it; None if there is none.
    """

    data: str
    defence: str
    attacks: int
    tried: int
    epsilon: float | None = None
    delta: float | None = None
    statement: str = ""
    void_under: list[str] = Field(default_factory=list)
    accuracy: Mean | None = None
    behind_plain: Mean | None = None
    worst_accuracy: Worst | None = None
    worst_success: Worst | None = None
    adaptively: bool = False
    adaptive_attack: str | None = None


class ArenaTable(FileRecord):
    """The content of ``arena.json``."""

    about: ArenaAbout
    cells: list[CellResult]
    standings: list[Standing]


class RoundTime(FileRecord):
    """So many rounds of a cell took so many seconds apart from local trainings."""

    rounds: int
    seconds: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ArenaRecord:
    """A run of ``fedward arena``.

    Attributes:
      path: its directory.
      about: what meets in it.
      cells: all of them, with what was measured.
      standings: how each defence stands over all attacks.
      seconds: of a cell's rounds, apart from local trainings, by its name; what was timed on one machine.
      digests: whether its files were compared with their digests.
    """

    path: Path
    about: ArenaAbout
    cells: tuple[CellResult, ...]
    standings: tuple[Standing, ...]
    seconds: Mapping[str, RoundTime]
    digests: Digests = NO_DIGESTS

    @property
    def runs(self) -> tuple[Path, ...]:
        """The directories of all its finished trainings, for ``fedward.load``."""
        return tuple(self.path / name for each in self.cells for name in each.runs)

    def table_rows(self) -> list[dict[str, Any]]:
        """One row for each cell."""
        return [_row(each) for each in self.cells]

    def to_pandas(self) -> Any:
        """The same as a table of pandas."""
        return frame(self.table_rows())


def _row(cell: CellResult) -> dict[str, Any]:
    row: dict[str, Any] = {"data": cell.data, "defence": cell.defence, "attack": cell.attack}
    row |= {"seeds": len(cell.seeds)} | {key: getattr(cell, key) for key in ABOUT}
    for key in ("accuracy", "attack_success", "lost", "behind_plain"):
        mean = getattr(cell, key)
        for end in ("mean", "low", "high"):
            name = key if end == "mean" else f"{key}_{end}"
            row[name] = None if mean is None else getattr(mean, end)
    return row


def is_arena(path: Path) -> bool:
    """Whether a directory is that of an arena that has a table."""
    return (path / ARENA).is_file()


def read_arena_file(path: Path) -> ArenaTable:
    """The table as it is stored."""
    require_own_files(path)
    file = path / ARENA
    return ArenaTable.read(json_object(file), file, _REMEDY)


def read_seconds(path: Path) -> dict[str, RoundTime]:
    """How long rounds took, as far as somebody timed them."""
    content = json_object(path / SECONDS) or {}
    return {name: RoundTime.read(each, path / SECONDS, _REMEDY) for name, each in content.items()}


def read_results(path: Path, names: Iterable[str]) -> dict[str, TrainingResult]:
    """The results of the finished ones among these directories, each ε from its own ledger."""
    found = {}
    for name in names:
        if Path(name).name != name:
            raise InvalidValue(f"{path / ARENA} is damaged: a run must be a directory in it, got {name!r}")
        run = RunDirectory(path / name)
        if not (path / name / "run.json").is_file():
            continue
        run.require_shown_undamaged(run.manifest())
        result = run.result()
        if isinstance(result, TrainingResult):
            found[name] = result
    return found


def compare_digests(path: Path) -> Digests:
    """Whether the arena's own files are as they were written; raises if they are not."""
    return require_undamaged(path, has_digests=sweep_has_digests(path))
