"""``fedward sweep``."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from fedward.commands.options import Asked, Range, grouped
from fedward.commands.output import AsJson, answer, answer_part, place
from fedward.reports.terminal.console import plain_console, say


@grouped
def sweep_command(
    asked: Asked,
    range: Range = None,
    out: Annotated[
        str | None,
        Option(metavar="PATH", help="The directory of all its runs; runs/NAME-sweep if not given."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run every experiment of a file with a [sweep] table, or go on with that: one table, one picture.

    Trainings that share work go together: equal local trainings run once.
    """
    from fedward.api.sweep_api import carry_out_sweep
    from fedward.reports.terminal import sweep_table as report
    from fedward.rundir.part_record import PartRecord

    compute, source = asked.compute(), asked.source()
    path = source.directory(place(out), "-sweep")
    console = plain_console(stderr=as_json)
    rows = carry_out_sweep(source, path, asked.data, compute, console, range)
    if isinstance(rows, PartRecord):
        answer_part(console, as_json, rows, path)
        return
    if as_json:
        answer(True, {**report.record(rows), "directory": str(path)})
        return
    report.table(console, rows)
    files = "sweep.csv, sweep.json" + (" and sweep.png" if (path / "sweep.png").exists() else "")
    say(console, f"{files} are in {path}")
