"""A small experiment that tests take many replicas of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fedward.config.experiment import from_content
from fedward.config.vary import Axis, variants
from fedward.rundir.store import open_run
from fedward.studies.progress import Progress
from fedward.studies.replicas.replica_study import ReplicaRun, prepare_variants, run_replicas
from tiny_experiment import CONTENT as TINY
from tiny_experiment import changed

CONTENT = changed(
    TINY,
    seed=3,
    rounds=3,
    data__users=8,
    algorithm__clip_bound=0.5,
    algorithm__noise_multiplier=1.0,
    algorithm__local__batch_size=90,
    algorithm__server={"name": "momentum"},
)
AXES = [Axis(key="algorithm.noise_multiplier", values=(1.0, 3.0))]


def wanted(
    replicas: int = 5, content: dict[str, Any] = CONTENT, axes: Any = AXES, **options: Any
) -> ReplicaRun:
    experiments = {name: from_content(each) for name, each in variants(content, axes).items()}
    return ReplicaRun(variants=prepare_variants(experiments), replicas=replicas, **options)


def go(run: ReplicaRun, path: Path, stop: int | None = None, **options: Any) -> list[Progress]:
    """Runs to the end, or leaves the run after so many steps."""
    steps: list[Progress] = []
    with open_run(path) as opened:
        for step in run_replicas(run, opened, **options):
            steps.append(step)
            if len(steps) == stop:
                break
    return steps
