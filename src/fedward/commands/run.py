"""``fedward run``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fedward.api.train import train_file
from fedward.commands.output import AsJson, place
from fedward.report.terminal import run_table as terminal
from fedward.report.terminal.console import plain_console

File = Annotated[Path, typer.Argument(help="The experiment file (TOML).")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Another value for a key of the file, in TOML; KEY= takes it out."
    ),
]
Out = Annotated[
    str | None, typer.Option("--out", metavar="PATH", help="The run directory; runs/NAME if not given.")
]
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
    console = plain_console(stderr=as_json)
    setup, found = train_file(
        file,
        changes=changes or [],
        out=place(out),
        data=data,
        workers=workers,
        device=device,
        engine=engine,
        console=console,
    )
    result = found.result
    assert result is not None  # a run that ends without an error has one
    assert found.ledger is not None
    if as_json:
        print(json.dumps({"epsilon": result["guarantee"]["epsilon"], **result, "directory": str(found.path)}))
    else:
        terminal.result(console, setup, found.ledger, result, found.metrics)
