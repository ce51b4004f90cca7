"""``fedward replicas``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fedward.backends.engines.choice import chosen
from fedward.backends.open import check_workers, engine_in_words
from fedward.commands.output import AsJson, place
from fedward.commands.run import Data, Device, EngineOption, File, Set, WorkersOption
from fedward.config import experiment as config
from fedward.config.overrides import source_of
from fedward.config.vary import Axis, variants
from fedward.report.terminal import replica_table as report
from fedward.report.terminal import run_table as terminal
from fedward.report.terminal.console import plain_console
from fedward.rundir.replica_store import ReplicaDirectory
from fedward.rundir.store import open_run
from fedward.studies.replicas.replica_guarantees import guarantees
from fedward.studies.replicas.replica_run import ReplicaRun, prepare_variants, run_replicas

Count = Annotated[int, typer.Option("--replicas", "-m", help="How many trainings of each variant: M.")]
Vary = Annotated[
    list[str] | None,
    typer.Option("--vary", metavar="KEY=V,V,...", help="A key of the file and the values it takes."),
]
Out = Annotated[
    str | None,
    typer.Option("--out", metavar="PATH", help="The run directory; runs/NAME-replicas if not given."),
]
SaveSpace = Annotated[
    bool, typer.Option("--save-space", help="Keep running sums, not the confidences of every replica.")
]
BlockSize = Annotated[
    int | None, typer.Option("--block", help="How many replicas go through their rounds together.")
]


def replicas_command(
    file: File,
    replicas: Count,
    changes: Set = None,
    vary: Vary = None,
    out: Out = None,
    data: Data = None,
    workers: WorkersOption = None,
    device: Device = "cpu",
    engine: EngineOption = None,
    save_space: SaveSpace = False,
    block: BlockSize = None,
    as_json: AsJson = False,
) -> None:
    """Train an experiment many times with other sampling and noise, or go on with that, or add more.

    Trainings that share work go together: equal jobs run once.
    """
    engine_chosen = chosen(engine)
    check_workers(workers, device)
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
    words = engine_in_words(first.model, first.federation, device, engine_chosen)
    terminal.engine(console, words, path)
    with open_run(path) as run:
        directory = ReplicaDirectory(run, save_space=save_space)
        report.progress(
            console,
            wanted,
            run_replicas(wanted, directory, workers=workers, device=device, engine=engine_chosen),
        )
        result = run.result()
    assert result is not None  # a run that ends without an error has one
    report.more_than_asked(console, wanted, result)
    if as_json:
        spent = guarantees(wanted, result["replicas"])
        print(json.dumps({**result, "guarantees": spent, "directory": str(path)}))
    else:
        report.result(console, result)
