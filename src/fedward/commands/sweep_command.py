"""``fedward sweep``."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fedward.base.durable_files import write_atomically
from fedward.commands.options import Asked, grouped
from fedward.commands.output import AsJson, place
from fedward.config.sweep_section import read_sweep
from fedward.report.pictures.sweep_picture import draw
from fedward.report.terminal import sweep_table as report
from fedward.report.terminal.console import plain_console
from fedward.report.terminal.live_progress import follow_sweep
from fedward.studies.study import carry_out
from fedward.studies.sweep.sweep_place import check_place
from fedward.studies.sweep.sweep_results import Row
from fedward.studies.sweep.sweep_study import plan_sweep

Out = Annotated[
    str | None,
    typer.Option(
        "--out", metavar="PATH", help="The directory of all its runs; runs/NAME-sweep if not given."
    ),
]


@grouped
def sweep_command(asked: Asked, out: Out = None, as_json: AsJson = False) -> None:
    """Run every experiment of a file with a [sweep] table, or go on with that: one table, one picture.

    Trainings that share work go together: equal local trainings run once.
    """
    compute, source = asked.compute(), asked.source()
    path = source.directory(place(out), "-sweep")
    sweep = read_sweep(source.content, source.name)
    check_place(path, sweep)
    study = plan_sweep(sweep, asked.data)
    console = plain_console(stderr=as_json)
    report.heading(console, sweep, path)

    def write(path: Path, rows: list[Row]) -> None:
        write_atomically(path / "sweep.csv", report.to_csv(rows).encode())
        write_atomically(path / "sweep.json", (json.dumps(report.record(rows), indent=1) + "\n").encode())
        if (picture := draw(sweep, rows, asked.file.stem)) is not None:
            write_atomically(path / "sweep.png", picture)

    rows = carry_out(study, path, compute, partial(follow_sweep, console), write)
    if as_json:
        print(json.dumps({**report.record(rows), "directory": str(path)}))
        return
    report.table(console, rows)
    files = "sweep.csv, sweep.json" + (" and sweep.png" if (path / "sweep.png").exists() else "")
    console.print(f"{files} are in {path}", highlight=False, soft_wrap=True)
