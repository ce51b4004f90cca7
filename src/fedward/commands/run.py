"""``fedward run``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fedward.commands.output import AsJson
from fedward.experiment import config
from fedward.experiment.runner import prepare, run
from fedward.experiment.store import open_run
from fedward.report import terminal

File = Annotated[Path, typer.Argument(help="The experiment file (TOML).")]
Out = Annotated[Path | None, typer.Option("--out", help="The run directory; runs/NAME if not given.")]
Data = Annotated[Path | None, typer.Option("--data", help="Where data sets lie; else FEDWARD_DATA.")]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", help="Processes that train, 0 for none but this; else one for each core."),
]
Device = Annotated[
    str, typer.Option("--device", help="Where models are trained: cpu, or cuda where there is one.")
]


def run_command(
    file: File,
    out: Out = None,
    data: Data = None,
    workers: WorkersOption = None,
    device: Device = "cpu",
    as_json: AsJson = False,
) -> None:
    """Run an experiment, or go on with it where it was left."""
    setup = prepare(config.read(file), data)
    path = out or Path("runs") / file.stem
    console = Console(stderr=as_json)
    terminal.heading(console, setup, path)
    with open_run(path) as directory:
        terminal.progress(console, setup, run(setup, directory, workers=workers, device=device))
        result, records, spent = directory.result(), directory.metrics(), directory.ledger()
    assert result is not None  # a run that ends without an error has one
    if as_json:
        print(json.dumps({"epsilon": result["guarantee"]["epsilon"], **result, "directory": str(path)}))
    else:
        terminal.result(console, setup, spent, result, records)
