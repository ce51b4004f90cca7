"""``fedward run``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fedward.backends.engine import chosen
from fedward.commands.output import AsJson
from fedward.experiment import config
from fedward.experiment.backend import check_workers, engine_in_words
from fedward.experiment.runner import prepare, run
from fedward.experiment.store import open_run
from fedward.report import terminal

File = Annotated[Path, typer.Argument(help="The experiment file (TOML).")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Another value for a key of the file, in TOML; KEY= takes it out."
    ),
]
Out = Annotated[Path | None, typer.Option("--out", help="The run directory; runs/NAME if not given.")]
Data = Annotated[Path | None, typer.Option("--data", help="Where data sets lie; else FEDWARD_DATA.")]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", help="Threads or processes that train, 0 for neither; else one a core."),
]
Device = Annotated[
    str, typer.Option("--device", help="Where models are trained: cpu, or cuda where there is one.")
]


EngineOption = Annotated[
    str | None,
    typer.Option("--engine", help="native, generic, or auto: native where it covers the model."),
]


def run_command(
    file: File,
    changes: Set = None,
    out: Out = None,
    data: Data = None,
    workers: WorkersOption = None,
    device: Device = "cpu",
    engine: EngineOption = None,
    as_json: AsJson = False,
) -> None:
    """Run an experiment, or go on with it where it was left."""
    engine_chosen = chosen(engine)
    check_workers(workers, device)
    setup = prepare(config.read(file, changes or []), data)
    path = out or Path("runs") / file.stem
    console = Console(stderr=as_json)
    terminal.heading(console, setup, path)
    console.print(engine_in_words(setup.model, setup.federation, device, engine_chosen), highlight=False)
    with open_run(path) as directory:
        terminal.progress(
            console, setup, run(setup, directory, workers=workers, device=device, engine=engine_chosen)
        )
        result, records, spent = directory.result(), directory.metrics(), directory.ledger()
    assert result is not None  # a run that ends without an error has one
    if as_json:
        print(json.dumps({"epsilon": result["guarantee"]["epsilon"], **result, "directory": str(path)}))
    else:
        terminal.result(console, setup, spent, result, records)
