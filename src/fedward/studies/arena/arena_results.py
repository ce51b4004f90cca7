"""The results of an arena, read from its finished trainings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fedward.config.arena_cells import Cell
from fedward.config.arena_section import Arena
from fedward.rundir.arena_record import (
    ArenaAbout,
    ArenaRecord,
    ArenaTable,
    compare_digests,
    read_arena_file,
    read_results,
    read_seconds,
)
from fedward.rundir.arena_table import Key, Seeded, arena_table
from fedward.rundir.store import RunDirectory


def finish_arena(about: ArenaAbout, arena: Arena, place: RunDirectory) -> ArenaRecord:
    """What is known once a session has trained all that it was asked for, of earlier sessions too."""
    names: dict[Key, dict[int, str]] = {}
    for point in arena.sweep.points:
        cell = Cell.of(point.labels)
        names.setdefault((cell.data, cell.defence, cell.attack), {})[point.seed] = point.directory
    table = arena_table(about, _seeded(place.path, names))
    place.files.note_members([name for cell in table.cells for name in cell.runs])
    return ArenaRecord(
        path=place.path,
        about=about,
        cells=tuple(table.cells),
        standings=tuple(table.standings),
        seconds=read_seconds(place.path),
    )


def read_arena_record(path: Path) -> ArenaRecord:
    """Reads the directory of an arena: every number anew from its trainings, and each ε from their ledgers.

    Args:
      path: the directory that ``fedward arena`` wrote.
    """
    stored = read_arena_file(path)
    table = computed_again(path, stored)
    return ArenaRecord(
        path=path,
        about=table.about,
        cells=tuple(table.cells),
        standings=tuple(table.standings),
        seconds=read_seconds(path),
        digests=compare_digests(path),
    )


def computed_again(path: Path, stored: ArenaTable) -> ArenaTable:
    """The table from the trainings that it names."""
    names: dict[Key, dict[int, str]] = {
        (cell.data, cell.defence, cell.attack): dict(zip(cell.seeds, cell.runs, strict=True))
        for cell in stored.cells
    }
    return arena_table(stored.about, _seeded(path, names))


def _seeded(path: Path, names: Mapping[Key, Mapping[int, str]]) -> dict[Key, Seeded]:
    results = read_results(path, [name for own in names.values() for name in own.values()])
    found = {}
    for key, own in names.items():
        there = {seed: name for seed, name in own.items() if name in results}
        found[key] = Seeded(names=there, results={seed: results[name] for seed, name in there.items()})
    return found
