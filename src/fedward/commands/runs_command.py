"""``fedward runs``: what was run, what came out, and how runs differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from fedward.base.validate import InvalidValue, one_of
from fedward.commands.help_text import PlainCommand
from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer, place
from fedward.reports.terminal.console import plain_console, say

if TYPE_CHECKING:
    from rich.console import Console

    from fedward.rundir.catalogue.facts import RunFacts

Folder = Annotated[Path, Option("--in", help="The directory whose runs are meant.")]
Where = Annotated[
    list[str] | None,
    Option("--where", metavar="CONDITION", help="Such as accuracy>0.9 or algorithm.preset=fedavg."),
]
app = typer.Typer(
    help="List, filter, compare and export runs.",
    epilog="Example: fedward runs --where accuracy>0.9 --sort -accuracy",
)
DEFAULT = Path("runs")


@app.callback(invoke_without_command=True)
@grouped
def list_runs(
    context: typer.Context,
    folder: Folder = DEFAULT,
    where: Where = None,
    sort: Annotated[str | None, Option(metavar="KEY", help="By this key; -KEY: the largest first.")] = None,
    show: Annotated[
        list[str] | None, Option(metavar="KEY", help="One more column, of an experiment or a result.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List, filter, compare and export runs."""
    if context.invoked_subcommand is not None:
        return

    from fedward.reports.terminal import runs_table as tables
    from fedward.rundir.catalogue.export import as_rows

    found = _matching_runs(folder, where, sort, show or [])
    if as_json:
        answer(True, {"runs": as_rows(found)})
        return
    console = _console()
    if not found:
        say(console, f"no run in {folder}" + (" is like that" if where else ""))
        return
    console.print(tables.listing(found, folder, tuple(show or ())))
    if any("epsilon" in run.facts for run in found):
        console.print(tables.ABOUT_EPSILON, highlight=False)
    say(console, *_problems(found))


@app.command(cls=PlainCommand, epilog="Example: fedward runs compare runs/first runs/second")
@grouped
def compare(
    runs: Annotated[list[Path], Argument(metavar="RUN", help="Run directories.")],
    every: Annotated[bool, Option("--all", help="Also what is the same in all of them.")] = False,
    as_json: AsJson = False,
) -> None:
    """What differs between runs: the experiment first, then what came out."""
    from fedward.reports.terminal import runs_table as tables

    if len(runs) < 2:
        raise InvalidValue(f"two or more runs can be compared, got {len(runs)}")
    found = [_read_run(path) for path in runs]
    differing = tables.differences(found, every=every)
    if as_json:
        answer(True, {"runs": [str(path) for path in runs], "differences": differing})
    elif differing:
        _console().print(tables.comparison(found, differing))
    else:
        _console().print("these runs are the same in all that is known of them")


@app.command(cls=PlainCommand, epilog="Example: fedward runs export all.csv --each-round")
@grouped
def export(
    out: Annotated[str, Argument(help="The file, or for TensorBoard and W&B the directory, to write.")],
    folder: Folder = DEFAULT,
    where: Where = None,
    to: Annotated[
        str | None,
        Option(help="csv, jsonl, tensorboard, mlflow or wandb; by the ending of OUT if not given."),
    ] = None,
    rounds: Annotated[
        bool, Option("--each-round", help="CSV, JSON lines: a row for every measured round.")
    ] = False,
    older: Annotated[bool, Option("--rounds", hidden=True)] = False,
) -> None:
    """Write runs for other programs."""
    from fedward.rundir.catalogue.export import EXPORTS

    by_ending = {".csv": "csv", ".jsonl": "jsonl", ".db": "mlflow", "": "tensorboard"}
    file = Path(place(out, "OUT"))
    to = to or by_ending.get(file.suffix)
    if to is None:
        raise InvalidValue(f"{out}: its ending says nothing about the format; give --to {', '.join(EXPORTS)}")
    one_of("--to", to, tuple(EXPORTS))
    rounds = rounds or older  # the name that the option had
    if rounds and to not in ("csv", "jsonl"):
        raise InvalidValue(f"--each-round is for csv and jsonl, got {to}, which has all rounds")
    every = _matching_runs(folder, where)
    found = [run for run in every if run.state != "damaged"]
    say(plain_console(stderr=True), *_problems(every))
    if not found:
        raise InvalidValue(f"there is no run in {folder}" + (" that is like that" if where else ""))
    EXPORTS[to](found, file, rounds=rounds)
    say(plain_console(), f"{len(found)} runs written to {out}")


def _problems(runs: Sequence[RunFacts]) -> list[str]:
    what = {"damaged": "cannot be read"}
    return [f"{run.path} {what.get(run.state, 'has no ε')}: {run.note}" for run in runs if run.note]


def _console() -> Console:
    """A file or a pipe is as wide as it need be."""
    console = plain_console()
    return console if console.is_terminal else plain_console(width=240)


def _matching_runs(
    folder: Path, where: list[str] | None, sort: str | None = None, show: Sequence[str] = ()
) -> list[RunFacts]:
    from fedward.rundir.catalogue.conditions import condition
    from fedward.rundir.catalogue.index import all_runs, find_runs

    conditions = [condition(text) for text in where or ()]
    descending = sort is not None and sort.startswith("-")
    key = sort.lstrip("-") if sort else None
    return find_runs(all_runs(folder), conditions, sort=key, descending=descending, show=show)


def _read_run(path: Path) -> RunFacts:
    from fedward.rundir.catalogue.facts import read
    from fedward.rundir.place import require_run

    require_run(path)
    found = read(path)
    if found.state == "damaged":
        raise InvalidValue(f"{path} cannot be read: {found.note}")
    return found
