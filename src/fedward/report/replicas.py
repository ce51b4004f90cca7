"""Many replicas on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from fedward.core.parameters import ParameterSpec
from fedward.experiment.replica_progress import ReplicaProgress
from fedward.experiment.replica_run import ReplicaRun


def heading(console: Console, wanted: ReplicaRun, directory: Path) -> None:
    """What is going to be run, before it is."""
    first = wanted.first
    several = f" of each of {len(wanted.variants)} variants" if len(wanted.variants) > 1 else ""
    console.print(
        f"{wanted.replicas:,} replicas{several}, {wanted.rounds} round{'s' * (wanted.rounds > 1)}, "
        f"{first.federation.num_users:,} users, {ParameterSpec.of(first.model).size:,} parameters; "
        f"seed {first.experiment.seed}, "
        f"{wanted.block_size} replicas in a block\nrun directory {directory}",
        highlight=False,
    )
    for name, setup in wanted.variants.items():
        console.print(f"one replica of {name}: {setup.planned}", highlight=False, soft_wrap=True)
    if any(not setup.algorithm.unproven for setup in wanted.variants.values()):
        console.print("this holds for one of them alone: all replicas together spend more", highlight=False)


def progress(console: Console, wanted: ReplicaRun, steps: Iterable[ReplicaProgress]) -> None:
    """Follows a run with one live line; quiet when nobody looks."""
    bar = Progress(
        TextColumn("{task.percentage:>5.1f} %"),
        BarColumn(),
        TextColumn("{task.fields[jobs]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("", total=None, jobs="", left="")
        for step in steps:
            bar.update(
                task,
                completed=step.done,
                total=step.total,
                jobs=f"{step.run:,} jobs run for {step.asked:,}",
                left=_left(step.seconds_left),
            )


def _left(seconds: float | None) -> str:
    """
    >>> _left(None), _left(59.6), _left(5400)
    ('measuring how long it takes', '1 min left', '1 h 30 min left')
    """
    if seconds is None:
        return "measuring how long it takes"
    minutes, hours = round(seconds / 60), round(seconds / 60) // 60
    if minutes == 0:
        return f"{max(1, round(seconds))} s left"
    return f"{hours} h {minutes % 60} min left" if hours else f"{minutes} min left"


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
        f"{found['replicas']:,} replicas; {found['jobs_run']:,} user trainings run for "
        f"{found['jobs_asked_for']:,} that were asked for",
        highlight=False,
    )


def _number(value: float | None, share: bool) -> str:
    if value is None:
        return "not finite"
    return f"{value:.2%}" if share else f"{value:.4f}"
