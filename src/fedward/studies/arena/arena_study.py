"""An arena: a sweep over attacks and defences whose impossible cells are refused, one data set at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from fedward.attacks.adaptive import adaptive_attacker_for
from fedward.attacks.attack import Staged
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.base.validate import InvalidValue
from fedward.config.arena_cells import Cell, Only, Refused
from fedward.config.arena_section import Arena
from fedward.config.sweep_section import Point
from fedward.core.federation import Federation
from fedward.rundir.arena_record import (
    SECONDS,
    ArenaAbout,
    ArenaRecord,
    AttackAbout,
    DefenceAbout,
    RefusedCell,
    RoundTime,
    read_seconds,
)
from fedward.rundir.part_record import PartRecord
from fedward.rundir.store import RunDirectory
from fedward.studies.arena.arena_results import finish_arena
from fedward.studies.progress import Progress
from fedward.studies.sweep.sweep_study import SweepStudy
from fedward.studies.training.setup import Setup, prepare


@dataclass(frozen=True, kw_only=True)
class ArenaStudy:
    """All cells of an arena that can be trained.

    Args:
      arena: what was asked for; its points are those that fit together.
      about: what meets in it, and what is refused.
      chosen: the trainings of this session; the others are left as they are.
      data_dir: where data sets lie.
      part: the trainings that are run here, where others run the rest; None for all.
    """

    arena: Arena
    about: ArenaAbout
    chosen: tuple[Point, ...]
    data_dir: Path | None = None
    part: PartRecord | None = None

    def open(self, path: Path, compute: Compute) -> AbstractContextManager[RunDirectory]:
        return SweepStudy(sweep=self.arena.sweep, setups=(), part=self.part).open(path, compute)

    def steps(self, place: RunDirectory, compute: Compute = IN_PROCESS) -> Iterator[Progress]:
        """Trains one seed on one kind of data after the other; of each, all cells side by side.

        A data set is in memory for as long as it is trained on.
        """
        total = sum(point.experiment.rounds for point in self.chosen)
        done, asked, run = 0, 0, 0
        timed = dict(read_seconds(place.path))
        for points in _by_data(self.chosen):
            before, last = dict(timed), None
            for last in self._together(points).steps(place, compute):
                _note(timed, last)
                left = _left_in_all(last, total - done)
                yield replace(
                    last,
                    done=done + last.done,
                    total=total,
                    asked=asked + last.asked,
                    run=run + last.run,
                    seconds_left=left,
                )
            done += sum(point.experiment.rounds for point in points)
            if last is not None:
                asked, run = asked + last.asked, run + last.run
            if timed != before:
                content = {name: each.to_json() for name, each in sorted(timed.items())}
                place.files.write(SECONDS, (json.dumps(content, indent=1) + "\n").encode())

    def _together(self, points: Sequence[Point]) -> SweepStudy:
        federation = points[0].experiment.load_data(self.data_dir)
        setups = _share_copies(prepare(point.experiment, federation=federation) for point in points)
        return SweepStudy(sweep=replace(self.arena.sweep, points=tuple(points)), setups=setups)

    def result(self, place: RunDirectory) -> ArenaRecord:
        return finish_arena(self.about, self.arena, place)

    def first_seed(self) -> SweepStudy:
        """The cells with the first seed made ready, for a forecast of all."""
        seed = self.arena.sweep.seeds[0]
        first = [point for point in self.arena.sweep.points if point.seed == seed]
        setups: list[Setup] = []
        for points in _by_data(first):
            federation = points[0].experiment.load_data(self.data_dir)
            setups += _share_copies(prepare(point.experiment, federation=federation) for point in points)
        return SweepStudy(sweep=self.arena.sweep, setups=setups)


def plan_arena(
    arena: Arena, data_dir: Path | None = None, only: Sequence[str] = (), range: str | None = None
) -> ArenaStudy:
    """Makes every training ready once; a cell that does not fit together is refused with the reason.

    The cell in which nobody attacks plain averaging must fit, on every kind of data.

    Args:
      arena: what is asked for.
      data_dir: where data sets lie.
      only: ``attack=NAME,...``, ``defence=NAME,...`` or ``data=NAME,...``: the cells of this session.
      range: ``A:B`` where only trainings A to B - 1 are run here.
    """
    wanted = Only.parse(only)
    wanted.check({"attack": arena.attacks, "defence": arena.defences, "data": arena.data})
    refused = {each.cell: each.why for each in arena.refused}
    adapting: dict[str, bool] = {}
    defences: dict[str, DefenceAbout] = {}
    for points in _by_data(arena.sweep.points):
        federation = points[0].experiment.load_data(data_dir)
        for point in points:
            cell = Cell.of(point.labels)
            if cell in refused:
                continue
            try:
                setup = _prepare(arena, cell, point, federation)
            except _NotPrivate as error:
                raise InvalidValue(str(error)) from error
            except InvalidValue as error:
                if (cell.defence, cell.attack) == (arena.defences[0], arena.attacks[0]):
                    raise InvalidValue(f"the arena does not fit together: {error} (with {cell})") from error
                refused[cell] = str(error)
                continue
            attack = point.experiment.attack
            adapting[cell.attack] = attack is not None and attack.build().adapts
            defences.setdefault(cell.defence, _defence(cell.defence, setup))
    left = tuple(point for point in arena.sweep.points if Cell.of(point.labels) not in refused)
    about = ArenaAbout(
        attacks=[AttackAbout(name=name, adapts=adapting.get(name, False)) for name in arena.attacks],
        defences=[defences.get(name) or DefenceAbout(name=name, preset="") for name in arena.defences],
        data=list(arena.data),
        seeds=list(arena.sweep.seeds),
        refused=[
            RefusedCell(data=cell.data, defence=cell.defence, attack=cell.attack, why=refused[cell])
            for cell in arena.cells
            if cell in refused
        ],
    )
    names = [point.directory for point in left]
    part = None if range is None else PartRecord.parse(range, len(names), names)
    chosen = left if part is None else left[part.start : part.stop]
    return ArenaStudy(
        arena=replace(
            arena,
            sweep=replace(arena.sweep, points=left),
            refused=tuple(Refused(cell=cell, why=why) for cell, why in refused.items()),
        ),
        about=about,
        chosen=tuple(point for point in chosen if wanted.holds(Cell.of(point.labels))),
        data_dir=data_dir,
        part=part,
    )


class _NotPrivate(InvalidValue):
    """A defence that must have an ε has none."""


def _prepare(arena: Arena, cell: Cell, point: Point, federation: Federation) -> Setup:
    setup = prepare(point.experiment, federation=federation)
    # Attackers that are shown honest updates take an ε away; that is a result, and no mistake in the file.
    if cell.defence in arena.must_be_private and cell.attack == arena.attacks[0]:
        planned = setup.planned
        if not planned.private:
            raise _NotPrivate(f"defence {cell.defence} must be private (must_be_private), got {planned}")
    return setup


def _defence(name: str, setup: Setup) -> DefenceAbout:
    attacker = adaptive_attacker_for(setup.algorithm.aggregator)
    return DefenceAbout(
        name=name,
        preset=setup.algorithm.name,
        adaptive_attack=None if attacker is None else attacker.attack,
        adaptive_without=[] if attacker is None else list(attacker.without),
    )


def _share_copies(setups: Iterable[Setup]) -> list[Setup]:
    """The same setups, with one copy of the examples that an attack takes or shows, for all that it attacks.

    On one data set and with one seed the same poisonings of the same users end in the same examples.
    """
    staged: list[tuple[object, Staged]] = []
    found = []
    for setup in setups:
        if setup.attack is not None and setup.experiment.attack is not None:
            built = setup.experiment.attack.build()
            about = built.data, built.test_share, setup.attack.adversary.users
            known = next((each for wanted, each in staged if wanted == about), None)
            if known is None:
                staged.append((about, setup.attack))
            else:
                attack = replace(setup.attack, federation=known.federation, goal=known.goal)
                setup = replace(setup, federation=known.federation, attack=attack)
        found.append(setup)
    return found


def _by_data(points: Iterable[Point]) -> list[list[Point]]:
    """Trainings on the same data together, in the order in which it is first needed."""
    together: dict[str, list[Point]] = {}
    for point in points:
        together.setdefault(f"{point.seed} {point.experiment.data!r}", []).append(point)
    return list(together.values())


def _note(timed: dict[str, RoundTime], step: Progress) -> None:
    if step.seconds_apart is not None:
        before = timed.get(step.name, RoundTime(rounds=0, seconds=0.0))
        seconds = before.seconds + step.seconds_apart
        timed[step.name] = RoundTime(rounds=before.rounds + 1, seconds=seconds)


def _left_in_all(step: Progress, rounds: int) -> float | None:
    """How long all rounds that are left take, at the pace of those on this data."""
    here = step.total - step.done
    if step.seconds_left is None or not here:
        return None
    return step.seconds_left * (rounds - step.done) / here


def cell_seconds(record: ArenaRecord, name: Mapping[str, str]) -> float | None:
    """Seconds of a round of a cell apart from local trainings; None if nobody timed it."""
    known = record.seconds.get(", ".join(f"{side}={label}" for side, label in name.items()))
    return known.seconds / known.rounds if known is not None and known.rounds else None
