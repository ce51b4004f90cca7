"""A small experiment that tests take many replicas of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fedward.experiment.config import from_content
from fedward.experiment.replica_progress import ReplicaProgress
from fedward.experiment.replica_run import ReplicaRun, prepare_variants, run_replicas
from fedward.experiment.replica_store import ReplicaDirectory
from fedward.experiment.store import open_run
from fedward.experiment.vary import Axis, variants

CONTENT: dict[str, Any] = {
    "seed": 3,
    "rounds": 3,
    "data": {"name": "digits", "users": 8},
    "model": {"name": "logistic_regression"},
    "algorithm": {
        "preset": "user_dp_fedavg",
        "clip_bound": 0.5,
        "noise_multiplier": 1.0,
        "sampler": {"name": "poisson", "rate": 0.5},
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 90, "epochs": 1},
        "server": {"name": "momentum"},
    },
    "privacy": {"delta": 1e-2, "accountant": "rdp"},
}
AXES = [Axis(key="algorithm.noise_multiplier", values=(1.0, 3.0))]


def wanted(
    replicas: int = 5, content: dict[str, Any] = CONTENT, axes: Any = AXES, **options: Any
) -> ReplicaRun:
    experiments = {name: from_content(each) for name, each in variants(content, axes).items()}
    return ReplicaRun(variants=prepare_variants(experiments), replicas=replicas, **options)


def go(run: ReplicaRun, path: Path, stop: int | None = None, **options: Any) -> list[ReplicaProgress]:
    """Runs to the end, or leaves the run after so many steps."""
    steps: list[ReplicaProgress] = []
    with open_run(path) as opened:
        for step in run_replicas(run, ReplicaDirectory(opened, save_space=run.save_space), **options):
            steps.append(step)
            if len(steps) == stop:
                break
    return steps
