"""Many replicas on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fedward.core.parameters import ParameterSpec
from fedward.studies.replicas.replica_run import ReplicaRun


def heading(console: Console, wanted: ReplicaRun, directory: Path) -> None:
    """What is going to be run, before it is."""
    first = wanted.first
    several = f" of each of {len(wanted.variants)} variants" if len(wanted.variants) > 1 else ""
    console.print(
        f"{wanted.replicas:,} replica{'s' * (wanted.replicas > 1)}{several}, "
        f"{wanted.rounds} round{'s' * (wanted.rounds > 1)}, "
        f"{first.federation.num_users:,} users, {ParameterSpec.of(first.model).size:,} parameters; "
        f"seed {first.experiment.seed}, "
        f"{wanted.block_size} replica{'s' * (wanted.block_size > 1)} in a block\nrun directory {directory}",
        highlight=False,
        soft_wrap=True,
    )
    for name, setup in wanted.variants.items():
        console.print(f"one replica of {name}: {setup.planned}", highlight=False, soft_wrap=True)
    if any(not setup.algorithm.unproven for setup in wanted.variants.values()):
        console.print("this holds for one of them alone: all replicas together spend more", highlight=False)
        if several:
            # The same cohorts and the same noise make comparisons sharp, and two releases unsafe.
            console.print("variants share their noise: release the models of one at most", highlight=False)


def more_than_asked(console: Console, wanted: ReplicaRun, found: dict[str, Any]) -> None:
    """Says so where earlier sessions have finished, or begun, more replicas than this one asked for."""
    if found["replicas"] > wanted.replicas:
        console.print(
            f"asked for {wanted.replicas:,} replicas, but {found['replicas']:,} are finished in the run "
            f"directory: the result is of all of them",
            highlight=False,
            soft_wrap=True,
        )


def result(console: Console, found: dict[str, Any]) -> None:
    """Accuracy over all replicas, and the work that was shared."""
    table = Table("variant", "of the replicas", "mean", "95 % interval of the mean")
    for name, values in found["variants"].items():
        for key, value in values.items():
            share = not key.startswith("cost")
            low, high = _number(value["low"], share), _number(value["high"], share)
            between = "" if value["low"] is None else f"{low} to {high}"
            table.add_row(name, key, _number(value["mean"], share), between)
    console.print(table)
    console.print(
        f"{found['replicas']:,} replica{'s' * (found['replicas'] > 1)}; "
        f"{found['jobs_run']:,} user trainings run for "
        f"{found['jobs_asked_for']:,} that were asked for",
        highlight=False,
        soft_wrap=True,
    )


def _number(value: float | None, share: bool) -> str:
    if value is None:
        return "not finite"
    return f"{value:.2%}" if share else f"{value:.4f}"
