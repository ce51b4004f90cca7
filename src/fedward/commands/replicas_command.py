"""``fedward replicas``."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated

import typer

from fedward.backends.open import engine_in_words
from fedward.commands.options import Asked, Several, grouped
from fedward.commands.output import AsJson, place
from fedward.config import experiment as config
from fedward.config.vary import variants
from fedward.report.terminal import replica_table as report
from fedward.report.terminal import run_table as terminal
from fedward.report.terminal.console import plain_console
from fedward.report.terminal.live_progress import follow_replicas
from fedward.studies.replicas.replica_guarantees import guarantees
from fedward.studies.replicas.replica_study import ReplicaRun, ReplicaStudy, prepare_variants
from fedward.studies.study import carry_out

Count = Annotated[int, typer.Option("--replicas", "-m", help="How many trainings of each variant: M.")]
Out = Annotated[
    str | None,
    typer.Option("--out", metavar="PATH", help="The run directory; runs/NAME-replicas if not given."),
]


@grouped
def replicas_command(
    asked: Asked, replicas: Count, several: Several, out: Out = None, as_json: AsJson = False
) -> None:
    """Train an experiment many times with other sampling and noise, or go on with that, or add more.

    Trainings that share work go together: equal jobs run once.
    """
    compute, source = asked.compute(), asked.source()
    path = source.directory(place(out), "-replicas")
    contents = variants(source.content, several.axes())
    experiments = {name: config.from_content(content, source.name) for name, content in contents.items()}
    wanted = ReplicaRun(
        variants=prepare_variants(experiments, asked.data),
        replicas=replicas,
        save_space=several.save_space,
        block=several.block,
    )
    console = plain_console(stderr=as_json)
    report.heading(console, wanted, path)
    first = wanted.first
    terminal.engine(console, engine_in_words(first.model, first.federation, compute), path)
    watch = partial(follow_replicas, console, wanted)
    result = carry_out(ReplicaStudy(wanted=wanted), path, compute, watch)
    report.more_than_asked(console, wanted, result)
    if as_json:
        spent = guarantees(wanted, result.replicas)
        print(json.dumps({**result.to_json(), "guarantees": spent, "directory": str(path)}))
    else:
        report.result(console, result)
