"""Many replicas on the terminal."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from fedward.core.parameters import ParameterSpec
from fedward.report.numbers import finite, many
from fedward.report.terminal.console import say, table
from fedward.rundir.results import ReplicasResult
from fedward.studies.replicas.replica_study import ReplicaRun


def heading(console: Console, wanted: ReplicaRun, directory: Path) -> None:
    """What is going to be run, before it is."""
    first = wanted.first
    several = f" of each of {len(wanted.variants)} variants" if len(wanted.variants) > 1 else ""
    say(
        console,
        f"{many(wanted.replicas, 'replica')}{several}, {many(wanted.rounds, 'round')}, "
        f"{first.federation.num_users:,} users, {ParameterSpec.of(first.model).size:,} parameters; "
        f"seed {first.experiment.seed}, {many(wanted.block_size, 'replica')} in a block",
        f"run directory {directory}",
        *(f"one replica of {name}: {setup.planned}" for name, setup in wanted.variants.items()),
    )
    if any(not setup.algorithm.unproven for setup in wanted.variants.values()):
        console.print("this holds for one of them alone: all replicas together spend more", highlight=False)
        if several:
            # The same cohorts and the same noise make comparisons sharp, and two releases unsafe.
            console.print("variants share their noise: release the models of one at most", highlight=False)


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
