"""``fedward pretrain``."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fedward.backends.compute import Compute
from fedward.backends.open import engine_in_words
from fedward.base.durable_files import require_writable
from fedward.commands.options import Data, Engine, Set
from fedward.commands.output import AsJson, place
from fedward.config import pretraining_file
from fedward.core.parameters import ParameterSpec
from fedward.report.terminal.console import plain_console
from fedward.report.terminal.live_progress import follow_pretraining
from fedward.studies.pretraining.pretraining_study import Pretraining, prepare
from fedward.studies.study import carry_out

File = Annotated[Path, typer.Argument(help="The pre-training file (TOML).")]
Out = Annotated[
    str | None,
    typer.Option("--out", metavar="PATH", help="The file of weights; weights/NAME.pt if not given."),
]

NO_PRIVACY = "trained without privacy: use public data; no ε of a later training covers it"


def pretrain_command(
    file: File,
    changes: Set = None,
    out: Out = None,
    data: Data = None,
    engine: Engine = None,
    as_json: AsJson = False,
) -> None:
    """Train a model on public data for others to start from, or go on with it where it was left."""
    compute = Compute(engine=engine).check()
    path = place(out) or Path("weights") / f"{file.stem}.pt"
    wanted = prepare(pretraining_file.read(file, changes or []), data)
    require_writable(path)
    console = plain_console(stderr=as_json)
    for line in (
        _heading(wanted),
        *([str(wanted.weights)] if wanted.weights is not None else []),
        engine_in_words(wanted.model, wanted.federation, compute),
        NO_PRIVACY,
    ):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    about = carry_out(wanted, path, compute, partial(follow_pretraining, console, wanted))
    if as_json:
        print(json.dumps(asdict(about) | {"file": str(path), "private": False}))
        return
    console.print(
        f'{about}\n[model] weights = "{path}" starts a training from it',
        highlight=False,
        soft_wrap=True,
        markup=False,
    )


def _heading(wanted: Pretraining) -> str:
    federation, spec = wanted.federation, ParameterSpec.of(wanted.model)
    test = len(federation.test) if federation.test is not None else 0
    return (
        f"{wanted.file.model.part}, {spec.size:,} parameters, on {wanted.file.data.part}: "
        f"{len(federation.examples):,} training and {test:,} test examples in {federation.num_classes} "
        f"classes; {wanted.file.epochs} epoch{'s' * (wanted.file.epochs > 1)}, seed {wanted.file.seed}"
    )
