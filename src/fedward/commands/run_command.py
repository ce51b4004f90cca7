"""``fedward run``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from fedward.api.train_api import train_source
from fedward.commands.options import Asked, grouped
from fedward.commands.output import AsJson, place
from fedward.report.terminal import run_table as terminal
from fedward.report.terminal.console import plain_console

Out = Annotated[
    str | None, typer.Option("--out", metavar="PATH", help="The run directory; runs/NAME if not given.")
]


@grouped
def run_command(asked: Asked, out: Out = None, as_json: AsJson = False) -> None:
    """Run an experiment, or go on with it where it was left."""
    console = plain_console(stderr=as_json)
    compute, source = asked.compute(), asked.source()
    setup, found = train_source(source, source.directory(place(out)), asked.data, compute, console)
    result = found.result
    assert result is not None  # a run that ends without an error has one
    assert found.ledger is not None
    if as_json:
        content = result.to_json()
        epsilon = content["guarantee"]["epsilon"]
        print(json.dumps({"epsilon": epsilon, **content, "directory": str(found.path)}))
    else:
        terminal.result(console, setup, found.ledger, result, found.metrics)
