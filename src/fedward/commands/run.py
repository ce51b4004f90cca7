"""``fedward run``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from fedward.api.train import train_file
from fedward.backends.compute import Compute
from fedward.commands.options import Data, Device, Engine, File, Set, Workers
from fedward.commands.output import AsJson, place
from fedward.report.terminal import run_table as terminal
from fedward.report.terminal.console import plain_console

Out = Annotated[
    str | None, typer.Option("--out", metavar="PATH", help="The run directory; runs/NAME if not given.")
]


def run_command(
    file: File,
    changes: Set = None,
    out: Out = None,
    data: Data = None,
    workers: Workers = None,
    device: Device = "cpu",
    engine: Engine = None,
    as_json: AsJson = False,
) -> None:
    """Run an experiment, or go on with it where it was left."""
    console = plain_console(stderr=as_json)
    setup, found = train_file(
        file,
        changes=changes or [],
        out=place(out),
        data=data,
        compute=Compute(workers=workers, device=device, engine=engine),
        console=console,
    )
    result = found.result
    assert result is not None  # a run that ends without an error has one
    assert found.ledger is not None
    if as_json:
        print(json.dumps({"epsilon": result["guarantee"]["epsilon"], **result, "directory": str(found.path)}))
    else:
        terminal.result(console, setup, found.ledger, result, found.metrics)
