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
from fedward.base.durable_files import write_atomically
from fedward.config.own_code import import_code
from fedward.config.sweep_section import read_sweep
from fedward.core.federation import Federation
from fedward.reports.pictures.sweep_picture import combinations_of_rows, draw
from fedward.reports.terminal import sweep_table as report
from fedward.reports.terminal.live_progress import follow_sweep
from fedward.rundir.sweep_record import read_sweep_record
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
    carry_out_sweep(source, path, folder, (compute or Compute()).check(), console_for(quiet))
    return show(read_sweep_record(path))


def carry_out_sweep(
    source: Source, path: Path, data: Path | None, compute: Compute, console: Console
) -> list[Row]:
    """Trains in a directory; heading and progress go to the console."""
    swept = read_sweep(source.content, source.name)
    check_place(path, swept)
    study = plan_sweep(swept, data)
    report.heading(console, swept, path)

    def write(path: Path, rows: list[Row]) -> None:
        write_atomically(path / "sweep.csv", report.to_csv(rows).encode())
        write_atomically(path / "sweep.json", (json.dumps(report.record(rows), indent=1) + "\n").encode())
        if (picture := draw(combinations_of_rows(rows), source.stem or path.name)) is not None:
            picture.save(path / "sweep.png")

    return carry_out(study, path, compute, partial(follow_sweep, console), write)
