"""``fedward sweep``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fedward.backends.engines.choice import chosen
from fedward.backends.open import check_workers
from fedward.base.durable_files import write_atomically
from fedward.commands.output import AsJson, place
from fedward.commands.run import Data, Device, EngineOption, File, Set, WorkersOption
from fedward.config import experiment as config
from fedward.config.overrides import source_of
from fedward.config.sweep_section import read_sweep
from fedward.report.pictures.sweep_picture import draw
from fedward.report.terminal import sweep_table as report
from fedward.report.terminal.console import plain_console
from fedward.rundir.store import open_run
from fedward.studies.sweep.sweep_place import begin_sweep, check_place
from fedward.studies.sweep.sweep_results import results
from fedward.studies.sweep.sweep_run import prepare_sweep, run_sweep

Out = Annotated[
    str | None,
    typer.Option(
        "--out", metavar="PATH", help="The directory of all its runs; runs/NAME-sweep if not given."
    ),
]


def sweep_command(
    file: File,
    changes: Set = None,
    out: Out = None,
    data: Data = None,
    workers: WorkersOption = None,
    device: Device = "cpu",
    engine: EngineOption = None,
    as_json: AsJson = False,
) -> None:
    """Run every experiment of a file with a [sweep] table, or go on with that: one table, one picture.

    Trainings that share work go together: equal local trainings run once.
    """
    engine_chosen = chosen(engine)
    check_workers(workers, device)
    path = place(out) or Path("runs") / f"{file.stem}-sweep"
    source = source_of(str(file), changes or [])
    sweep = read_sweep(config.read_content(file, changes or []), source)
    check_place(path, sweep)
    setups = prepare_sweep(sweep, data)
    console = plain_console(stderr=as_json)
    report.heading(console, sweep, path)
    with open_run(path):
        begin_sweep(path, sweep)
        steps = run_sweep(sweep, setups, path, workers=workers, device=device, engine=engine_chosen)
        report.progress(console, steps)
        rows = results(sweep, path)
        found = report.record(rows)
        write_atomically(path / "sweep.csv", report.to_csv(rows).encode())
        write_atomically(path / "sweep.json", (json.dumps(found, indent=1) + "\n").encode())
        if (picture := draw(sweep, rows, file.stem)) is not None:
            write_atomically(path / "sweep.png", picture)
    if as_json:
        print(json.dumps({**found, "directory": str(path)}))
        return
    report.table(console, rows)
    files = "sweep.csv, sweep.json" + (" and sweep.png" if picture is not None else "")
    console.print(f"{files} are in {path}", highlight=False, soft_wrap=True)
