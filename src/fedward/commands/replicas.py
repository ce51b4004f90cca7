"""``fedward replicas``."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fedward.backends.compute import Compute
from fedward.backends.open import engine_in_words
from fedward.commands.options import (
    BlockSize,
    Data,
    Device,
    Engine,
    File,
    SaveSpace,
    Set,
    Vary,
    Workers,
)
from fedward.commands.output import AsJson, place
from fedward.config import experiment as config
from fedward.config.overrides import source_of
from fedward.config.vary import Axis, variants
from fedward.report.terminal import replica_table as report
from fedward.report.terminal import run_table as terminal
from fedward.report.terminal.console import plain_console
from fedward.report.terminal.progress import follow_replicas
from fedward.studies.replicas.replica_guarantees import guarantees
from fedward.studies.replicas.replica_run import ReplicaRun, ReplicaStudy, prepare_variants
from fedward.studies.study import carry_out

Count = Annotated[int, typer.Option("--replicas", "-m", help="How many trainings of each variant: M.")]
Out = Annotated[
    str | None,
    typer.Option("--out", metavar="PATH", help="The run directory; runs/NAME-replicas if not given."),
]


def replicas_command(
    file: File,
    replicas: Count,
    changes: Set = None,
    vary: Vary = None,
    out: Out = None,
    data: Data = None,
    workers: Workers = None,
    device: Device = "cpu",
    engine: Engine = None,
    save_space: SaveSpace = False,
    block: BlockSize = None,
    as_json: AsJson = False,
) -> None:
    """Train an experiment many times with other sampling and noise, or go on with that, or add more.

    Trainings that share work go together: equal jobs run once.
    """
    compute = Compute(workers=workers, device=device, engine=engine).check()
    path = place(out) or Path("runs") / f"{file.stem}-replicas"
    source = source_of(str(file), changes or [])
    contents = variants(config.read_content(file, changes or []), [Axis.parse(text) for text in vary or []])
    experiments = {name: config.from_content(content, source) for name, content in contents.items()}
    wanted = ReplicaRun(
        variants=prepare_variants(experiments, data), replicas=replicas, save_space=save_space, block=block
    )
    console = plain_console(stderr=as_json)
    report.heading(console, wanted, path)
    first = wanted.first
    terminal.engine(console, engine_in_words(first.model, first.federation, compute), path)
    watch = partial(follow_replicas, console, wanted)
    result = carry_out(ReplicaStudy(wanted=wanted), path, compute, watch)
    report.more_than_asked(console, wanted, result)
    if as_json:
        spent = guarantees(wanted, result["replicas"])
        print(json.dumps({**result, "guarantees": spent, "directory": str(path)}))
    else:
        report.result(console, result)
