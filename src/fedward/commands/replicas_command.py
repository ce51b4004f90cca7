"""``fedward replicas``."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from fedward.commands.options import Asked, Several, grouped
from fedward.commands.output import AsJson, answer, answer_part, place
from fedward.reports.terminal.console import plain_console


@grouped
def replicas_command(
    asked: Asked,
    replicas: Annotated[int, Option("--replicas", "-m", help="How many trainings of each variant: M.")],
    several: Several,
    out: Annotated[
        str | None, Option(metavar="PATH", help="The run directory; runs/NAME-replicas if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train an experiment many times with other sampling and noise, or go on with that, or add more.

    Trainings that share work go together: equal jobs run once.
    """
    from fedward.api.replicas_api import carry_out_replicas, plan_replicas
    from fedward.reports.terminal import replica_table as report
    from fedward.rundir.part_record import PartRecord
    from fedward.studies.replicas.replica_setup import guarantees

    compute, source = asked.compute(), asked.source()
    path = source.directory(place(out), "-replicas")
    wanted = plan_replicas(
        source, several.vary or [], asked.data, replicas, several.save_space, several.block, several.range
    )
    console = plain_console(stderr=as_json)
    result = carry_out_replicas(wanted, path, compute, console)
    if isinstance(result, PartRecord):
        answer_part(console, as_json, result, path)
        return
    report.more_than_asked(console, wanted, result)
    if as_json:
        spent = guarantees(wanted, result.replicas)
        answer(True, {**result.to_json(), "guarantees": spent, "directory": str(path)})
    else:
        report.result(console, result)
