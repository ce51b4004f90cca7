"""``fedward arena``."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from fedward.commands.options import Asked, Range, grouped
from fedward.commands.output import AsJson, answer, answer_part, place
from fedward.reports.terminal.console import plain_console, say


@grouped
def arena_command(
    asked: Asked,
    only: Annotated[
        list[str] | None,
        Option(
            metavar="SIDE=NAME,...",
            help="Train some cells now: attack=NAME,..., defence=NAME,..., data=NAME,...; repeat to narrow.",
        ),
    ] = None,
    range: Range = None,
    out: Annotated[
        str | None,
        Option(metavar="PATH", help="The directory of all its runs; runs/NAME-arena if not given."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try every attack of a file on every defence, or go on with that: one table, worst cases, one picture.

    A cell that is impossible is refused with the reason; the others are trained.
    """
    from fedward.api.arena_api import carry_out_arena
    from fedward.reports.terminal import arena_table as report
    from fedward.rundir.part_record import PartRecord

    compute, source = asked.compute(), asked.source()
    path = source.directory(place(out), "-arena")
    console = plain_console(stderr=as_json)
    found = carry_out_arena(source, path, asked.data, compute, console, only=only or [], range=range)
    if isinstance(found, PartRecord):
        answer_part(console, as_json, found, path)
        return
    if as_json:
        answer(True, {**report.record(found), "directory": str(path)})
        return
    report.table(console, found)
    files = "arena.csv, arena.json" + (" and arena.png" if (path / "arena.png").exists() else "")
    say(console, f"{files} are in {path}; fedward report {path} makes a page with a matrix that opens cells")
