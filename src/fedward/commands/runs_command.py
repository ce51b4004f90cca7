"""``fedward runs``: what was run, what came out, and how runs differ."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fedward.base.validate import InvalidValue, one_of
from fedward.commands.output import AsJson, place
from fedward.report.terminal import runs_table as tables
from fedward.report.terminal.console import plain_console
from fedward.rundir.catalogue.conditions import condition
from fedward.rundir.catalogue.export import EXPORTS, as_rows
from fedward.rundir.catalogue.facts import RunFacts, read
from fedward.rundir.catalogue.index import open_index
from fedward.rundir.place import require_run

Folder = Annotated[Path, typer.Option("--in", help="The directory whose runs are meant.")]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="CONDITION", help="Such as accuracy>0.9 or algorithm.preset=fedavg."),
]
Sort = Annotated[
    str | None, typer.Option("--sort", metavar="KEY", help="By this key; -KEY: the largest first.")
]
Show = Annotated[
    list[str] | None,
    typer.Option("--show", metavar="KEY", help="One more column, of an experiment or a result."),
]
Runs = Annotated[list[Path], typer.Argument(help="Run directories.")]
Out = Annotated[str, typer.Argument(help="The file, or for TensorBoard the directory, to write.")]
To = Annotated[
    str | None,
    typer.Option("--to", help="csv, jsonl, tensorboard or mlflow; by the ending of OUT if not given."),
]
Rounds = Annotated[bool, typer.Option("--rounds", help="CSV, JSON lines: a row for every measured round.")]
Every = Annotated[bool, typer.Option("--all", help="Also what is the same in all of them.")]

app = typer.Typer(help="List, filter, compare and export runs.")
DEFAULT = Path("runs")


@app.callback(invoke_without_command=True)
def list_runs(
    context: typer.Context,
    folder: Folder = DEFAULT,
    where: Where = None,
    sort: Sort = None,
    show: Show = None,
    as_json: AsJson = False,
) -> None:
    """List, filter, compare and export runs."""
    if context.invoked_subcommand is not None:
        return
    found = _matching_runs(folder, where, sort, show or [])
    if as_json:
        print(json.dumps({"runs": as_rows(found)}))
        return
    console = _console()
    if not found:
        console.print(f"no run in {folder}" + (" is like that" if where else ""), highlight=False)
        return
    console.print(tables.listing(found, folder, tuple(show or ())))
    if any("epsilon" in run.facts for run in found):
        console.print(tables.ABOUT_EPSILON, highlight=False)
    for run in found:
        if run.note:
            console.print(f"{run.path} {_problem(run)}", highlight=False, markup=False, soft_wrap=True)


@app.command()
def compare(runs: Runs, every: Every = False, as_json: AsJson = False) -> None:
    """What differs between runs: the experiment first, then what came out."""
    if len(runs) < 2:
        raise InvalidValue(f"two or more runs can be compared, got {len(runs)}")
    found = [_read_run(path) for path in runs]
    differing = tables.differences(found, every=every)
    if as_json:
        content: dict[str, Any] = {"runs": [str(path) for path in runs], "differences": differing}
        print(json.dumps(content))
        return
    console = _console()
    if differing:
        console.print(tables.comparison(found, differing))
    else:
        console.print("these runs are the same in all that is known of them")


@app.command()
def export(
    out: Out, folder: Folder = DEFAULT, where: Where = None, to: To = None, rounds: Rounds = False
) -> None:
    """Write runs for other programs."""
    by_ending = {".csv": "csv", ".jsonl": "jsonl", ".db": "mlflow", "": "tensorboard"}
    file = place(out, "OUT")
    to = to or by_ending.get(file.suffix)
    if to is None:
        raise InvalidValue(f"{out}: its ending says nothing about the format; give --to {', '.join(EXPORTS)}")
    one_of("--to", to, tuple(EXPORTS))
    if rounds and to not in ("csv", "jsonl"):
        raise InvalidValue(f"--rounds is for csv and jsonl, got {to}, which has all rounds")
    every = _matching_runs(folder, where)
    found = [run for run in every if run.state != "damaged"]
    for run in every:
        if run.note:
            plain_console(stderr=True).print(
                f"{run.path} {_problem(run)}", highlight=False, markup=False, soft_wrap=True
            )
    if not found:
        raise InvalidValue(f"there is no run in {folder}" + (" that is like that" if where else ""))
    EXPORTS[to](found, file, rounds=rounds)
    plain_console().print(f"{len(found)} runs written to {out}", highlight=False)


def _problem(run: RunFacts) -> str:
    return f"cannot be read: {run.note}" if run.state == "damaged" else f"has no ε: {run.note}"


def _console() -> Console:
    """A file or a pipe is as wide as it need be."""
    console = plain_console()
    return console if console.is_terminal else plain_console(width=240)


def _matching_runs(
    folder: Path, where: list[str] | None, sort: str | None = None, show: Sequence[str] = ()
) -> list[RunFacts]:
    conditions = [condition(text) for text in where or ()]
    descending = sort is not None and sort.startswith("-")
    with open_index(folder) as index:
        index.require(show)
        return index.find(conditions, sort=sort.lstrip("-") if sort else None, descending=descending)


def _read_run(path: Path) -> RunFacts:
    require_run(path)
    found = read(path)
    if found.state == "damaged":
        raise InvalidValue(f"{path} cannot be read: {found.note}")
    return found
