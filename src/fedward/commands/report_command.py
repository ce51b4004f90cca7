"""``fedward report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedward.commands.output import AsJson, answer, place
from fedward.report.page import write

Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN...", help="Run directories of run, replicas, certify or infer; several are compared."
    ),
]
Out = Annotated[
    str, typer.Option("--out", metavar="PATH", help="The page to write; one that is there is replaced.")
]
Data = Annotated[
    Path | None, typer.Option("--data", help="Where data sets lie, for pictures; else FEDWARD_DATA.")
]


def report_command(runs: Runs, out: Out = "report.html", data: Data = None, as_json: AsJson = False) -> None:
    """Write one HTML page about runs: it opens offline, in any browser, and asks no server for anything."""
    page = place(out)
    write(runs, page, data)
    answer(as_json, {"page": str(page), "runs": [str(run) for run in runs]}, f"{page}: open it in a browser")
