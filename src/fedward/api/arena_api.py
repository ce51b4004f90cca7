"""``fedward.arena``: every attack on every defence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from rich.console import Console
from torch import nn

from fedward.api.records import Arena, show
from fedward.api.source import ExperimentOptions, PathLike, Source, What, console_for, source_from
from fedward.backends.compute import Compute
from fedward.base.table_rows import csv_text
from fedward.config.arena_section import read_arena
from fedward.config.own_code import import_code
from fedward.core.federation import Federation
from fedward.reports.pictures.arena_picture import draw_arena
from fedward.reports.terminal import arena_table as report
from fedward.reports.terminal.live_progress import follow_sweep
from fedward.rundir.arena_record import ARENA, ArenaRecord, ArenaTable
from fedward.rundir.part_record import PartRecord
from fedward.rundir.store import RunDirectory
from fedward.studies.arena.arena_results import read_arena_record
from fedward.studies.arena.arena_study import plan_arena
from fedward.studies.part_study import PartStudy
from fedward.studies.study import carry_out
from fedward.studies.sweep.sweep_study import check_place


def arena(
    what: What,
    model: nn.Module | None = None,
    federation: Federation | None = None,
    *,
    attacks: Mapping[str, Any] | None = None,
    defences: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] | None = None,
    only: Sequence[str] = (),
    range: str | None = None,
    out: PathLike | None = None,
    data: PathLike | None = None,
    compute: Compute | None = None,
    quiet: bool = False,
    **options: Unpack[ExperimentOptions],
) -> Arena | None:
    """Tries every attack on every defence, or goes on with it: what ``fedward arena`` does.

    Args:
      what, model, federation, options: as in ``fedward.train``.
      attacks, defences: more of them by name, beside those of the table ``[arena]``: tables, or objects
        (``fedward.attacks.Attack``, and what presets make).
      seeds: how many trainings of each cell, or their seeds.
      only: the cells of this session: ``attack=NAME,...``, ``defence=NAME,...``, ``data=NAME,...``.
      range: ``A:B``: only trainings A to B - 1, in a directory for ``fedward.merge``; then None comes back.
      out: the directory of all its runs; ``runs/NAME-arena`` if not given.
      data, compute, quiet: as in ``fedward.train``.
    """
    source = source_from(what, model, federation, **options)
    given = source.content.get("arena")
    table: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {}
    for key, more in (("attacks", attacks), ("defences", defences)):
        if more is not None:
            known = table.get(key, {})
            table[key] = {**known, **(import_code(dict(more)) if source.trust else more)}
    if seeds is not None:
        table["seeds"] = seeds if isinstance(seeds, int) else list(seeds)
    if table:
        source.content["arena"] = table
    path = source.directory(out, "-arena")
    folder = None if data is None else Path(data)
    found = carry_out_arena(
        source, path, folder, source.compute(compute), console_for(quiet), only=only, range=range
    )
    return None if isinstance(found, PartRecord) else show(read_arena_record(path))


def carry_out_arena(
    source: Source,
    path: Path,
    data: Path | None,
    compute: Compute,
    console: Console,
    *,
    only: Sequence[str] = (),
    range: str | None = None,
) -> ArenaRecord | PartRecord:
    """Trains in a directory; heading and progress go to the console."""
    wanted = read_arena(source.content, source.name)
    check_place(path, wanted.sweep)
    study = plan_arena(wanted, data, only, range)
    report.heading(console, study, path)

    def write(place: RunDirectory, record: ArenaRecord) -> None:
        files = place.files
        table = ArenaTable(about=record.about, cells=list(record.cells), standings=list(record.standings))
        files.write("arena.csv", csv_text(record.table_rows()).encode())
        files.write(ARENA, (json.dumps(table.to_json(), indent=1) + "\n").encode(), private=True)
        if (picture := draw_arena(record)) is not None:
            files.write("arena.png", picture.png())

    watch = partial(follow_sweep, console)
    if study.part is not None:
        return carry_out(PartStudy(whole=study, part=study.part), path, compute, watch)
    return carry_out(study, path, compute, watch, write)
