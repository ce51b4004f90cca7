"""``fedward.sweep``: every experiment of a file with a table ``[sweep]``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from rich.console import Console
from torch import nn

from fedward.api.records import Sweep, show
from fedward.api.source import ExperimentOptions, PathLike, Source, What, console_for, source_from
from fedward.backends.compute import Compute
from fedward.config.own_code import import_code
from fedward.config.sweep_section import read_sweep
from fedward.core.federation import Federation
from fedward.reports.pictures.sweep_picture import combinations_of_rows, draw
from fedward.reports.terminal import sweep_table as report
from fedward.reports.terminal.live_progress import follow_sweep
from fedward.rundir.part_record import PartRecord
from fedward.rundir.store import RunDirectory
from fedward.rundir.sweep_record import SweepRecord, read_sweep_record
from fedward.studies.part_study import PartStudy
from fedward.studies.study import carry_out
from fedward.studies.sweep.sweep_results import Row
from fedward.studies.sweep.sweep_study import check_place, plan_sweep


def sweep(
    what: What,
    model: nn.Module | None = None,
    federation: Federation | None = None,
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    seeds: int | Sequence[int] | None = None,
    range: str | None = None,
    out: PathLike | None = None,
    data: PathLike | None = None,
    compute: Compute | None = None,
    quiet: bool = False,
    **options: Unpack[ExperimentOptions],
) -> Sweep:
    """Runs every experiment of a sweep, or goes on with it: what ``fedward sweep`` does.

    Args:
      what, model, federation, options: as in ``fedward.train``.
      vary: keys and the values they take, in the place of the table ``[sweep]``. A value may be a table, or
        an object: ``{"algorithm": [one, another]}``.
      seeds: how many trainings of each combination, or their seeds.
      range: ``A:B``: only trainings A to B - 1, in a directory for ``fedward.merge``; the table is empty.
      out: the directory of all its runs; ``runs/NAME-sweep`` if not given.
      data, compute, quiet: as in ``fedward.train``.
    """
    source = source_from(what, model, federation, **options)
    if vary is not None or seeds is not None:
        table = {key: list(values) for key, values in (vary or {}).items()}
        several = {} if seeds is None else {"seeds": seeds if isinstance(seeds, int) else list(seeds)}
        source.content["sweep"] = {**several, **(import_code(table) if source.trust else table)}
    path = source.directory(out, "-sweep")
    folder = None if data is None else Path(data)
    carry_out_sweep(source, path, folder, source.compute(compute), console_for(quiet), range)
    if range is not None:
        return show(SweepRecord(path=path, combinations=()))
    return show(read_sweep_record(path))


def carry_out_sweep(
    source: Source,
    path: Path,
    data: Path | None,
    compute: Compute,
    console: Console,
    range: str | None = None,
) -> list[Row] | PartRecord:
    """Trains in a directory; heading and progress go to the console."""
    swept = read_sweep(source.content, source.name)
    check_place(path, swept)
    study = plan_sweep(swept, data, range)
    report.heading(console, swept, path)

    def write(place: RunDirectory, rows: list[Row]) -> None:
        files, record = place.files, json.dumps(report.record(rows), indent=1) + "\n"
        files.write("sweep.csv", report.to_csv(rows).encode())
        files.write("sweep.json", record.encode(), private=True)  # it names the seeds
        if (picture := draw(combinations_of_rows(rows), source.stem or path.name)) is not None:
            files.write("sweep.png", picture.png())

    watch = partial(follow_sweep, console)
    if study.part is not None:
        return carry_out(PartStudy(whole=study, part=study.part), path, compute, watch)
    return carry_out(study, path, compute, watch, write)
