"""``fedward report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer, place


@grouped
def report_command(
    runs: Annotated[
        list[Path],
        Argument(
            metavar="RUN", help="Run directories of run, replicas, certify or infer; several are compared."
        ),
    ],
    out: Annotated[
        str | None,
        Option(
            metavar="PATH",
            help="The page to write, report.html or audit.html if not given; one that is there is replaced.",
        ),
    ] = None,
    for_audit: Annotated[
        bool,
        Option(
            "--for-audit",
            help="The record that an auditor signs: parameters, guarantees, assumptions, digests, versions.",
        ),
    ] = False,
    data: Annotated[Path | None, Option(help="Where data sets lie, for pictures; else FEDWARD_DATA.")] = None,
    devices_per_person: Annotated[
        int, Option(help="k: how many users one person may be; what such a person is promised.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Write one HTML page about runs: it opens offline, in any browser, and asks no server for anything."""
    from fedward.api.report_api import report

    page = report(
        runs, out=place(out), for_audit=for_audit, data=data, devices_per_person=devices_per_person
    ).path
    answer(as_json, {"page": str(page), "runs": [str(run) for run in runs]}, f"{page}: open it in a browser")
