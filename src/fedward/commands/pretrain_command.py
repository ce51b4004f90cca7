"""``fedward pretrain``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fedward.commands.options import Data, Engine, Set, Trust, grouped, trusted_source
from fedward.commands.output import AsJson, answer, place
from fedward.reports.terminal.console import plain_console


@grouped
def pretrain_command(
    file: Annotated[Path, Argument(help="The pre-training file (TOML).")],
    changes: Set = None,
    out: Annotated[
        str | None, Option(metavar="PATH", help="The file of weights; weights/NAME.pt if not given.")
    ] = None,
    data: Data = None,
    engine: Engine = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Train a model on public data for others to start from, or go on with it where it was left."""
    from fedward.api.pretrain_api import pretrain_source
    from fedward.backends.compute import Compute

    compute, console = Compute(engine=engine).check(), plain_console(stderr=as_json)
    path = Path(place(out) or f"weights/{file.stem}.pt")
    found = pretrain_source(trusted_source(file, changes, trust), path, data, compute, console)
    answer(
        as_json,
        asdict(found.about) | {"file": str(path), "private": False},
        str(found.about),
        f'[model] weights = "{path}" starts a training from it',
    )
