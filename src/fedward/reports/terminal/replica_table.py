"""Many replicas on the terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from fedward.reports.numbers import finite, many
from fedward.reports.templates import lines
from fedward.reports.terminal.console import say, table
from fedward.rundir.results import ReplicasResult
from fedward.studies.replicas.replica_study import ReplicaRun


def heading(console: Console, wanted: ReplicaRun, directory: Path) -> None:
    """What is going to be run, before it is."""
    say(console, *lines("terminal/replicas_heading.txt", wanted=wanted, directory=directory))


def more_than_asked(console: Console, wanted: ReplicaRun, found: ReplicasResult) -> None:
    """Says so where earlier sessions have finished, or begun, more replicas than this one asked for."""
    if found.replicas > wanted.replicas:
        say(
            console,
            f"asked for {wanted.replicas:,} replicas, but {found.replicas:,} are finished in the run "
            "directory: the result is of all of them",
        )


def result(console: Console, found: ReplicasResult) -> None:
    """Accuracy over all replicas, and the work that was shared."""
    rows = []
    for name, values in found.variants.items():
        for key, value in values.items():
            form = ".4f" if key.startswith("cost") else ".2%"
            mean, low, high = (finite(each, form) for each in (value.mean, value.low, value.high))
            rows.append((name, key, mean, "" if value.low is None else f"{low} to {high}"))
    headings = ["variant", "of the replicas", "mean", "95 % interval of the mean"]
    console.print(table(headings, rows, left=4))
    run, asked = found.jobs_run, found.jobs_asked_for
    trained = f"{run:,} user trainings run for {asked:,} that were asked for"
    say(console, f"{many(found.replicas, 'replica')}; {trained}")
