"""``fedward run``."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from fedward.commands.options import Asked, grouped
from fedward.commands.output import AsJson, answer, place
from fedward.reports.terminal.console import plain_console


@grouped
def run_command(
    asked: Asked,
    out: Annotated[
        str | None, Option(metavar="PATH", help="The run directory; runs/NAME if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run an experiment, or go on with it where it was left."""
    from fedward.api.train_api import train_source
    from fedward.reports.record_files import result_as_json
    from fedward.reports.terminal import run_table as terminal

    console = plain_console(stderr=as_json)
    compute, source = asked.compute(), asked.source()
    setup, found = train_source(source, source.directory(place(out)), asked.data, compute, console)
    result = found.result
    assert result is not None  # a run that ends without an error has one
    assert found.ledger is not None
    if as_json:
        content = result_as_json(result)
        epsilon = content["guarantee"]["epsilon"]
        answer(True, {"epsilon": epsilon, **content, "directory": str(found.path)})
    else:
        terminal.result(console, setup, found.ledger, result, found.metrics)
