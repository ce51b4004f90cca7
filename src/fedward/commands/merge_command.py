"""``fedward merge``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from fedward.commands.output import AsJson, answer, place
from fedward.reports.terminal.console import plain_console, say


def merge_command(
    parts: Annotated[list[Path], Argument(metavar="DIR...", help="The directories of all parts.")],
    out: Annotated[str, Option(metavar="PATH", help="The directory that they become.")],
    as_json: AsJson = False,
) -> None:
    """Put the parts of replicas, of a certification or of a sweep together that --range A:B made.

    Overlaps, gaps, other experiments and other bits are refused. What comes out is as if all had been trained
    in one place: the command that made the parts, without --range and with --out PATH, goes on from there.
    """
    from fedward.api.merge_api import merge_parts
    from fedward.reports.terminal import replica_table as report

    found, kind = merge_parts(parts, Path(place(out)))
    record: dict[str, Any] = {"directory": out, "parts": len(parts), "kind": kind}
    if as_json:
        answer(True, record | ({} if isinstance(found, int) else found.to_json()))
        return
    console = plain_console()
    if isinstance(found, int):
        say(
            console,
            f"{found} trainings of {len(parts)} parts are in {out}: fedward sweep (or arena) --out {out} has "
            "its tables",
        )
        return
    report.result(console, found)
    goes_on = f": fedward certify --out {out} certifies them" if kind == "certification" else ""
    say(console, f"{len(parts)} parts are in {out}{goes_on}")
