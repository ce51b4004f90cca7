"""A small pre-training, of a few seconds at most."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedward.backends.compute import IN_PROCESS, Compute
from fedward.config.pretraining_file import from_content
from fedward.studies.pretraining.pretraining_study import Pretraining, prepare
from fedward.studies.progress import Progress

CONTENT: dict[str, Any] = {
    "seed": 1,
    "epochs": 2,
    "data": {"name": "digits", "users": 20},
    "model": {"name": "mlp"},
    "training": {"learning_rate": 0.1, "batch_size": 20, "momentum": 0.5, "learning_rate_decay": 0.9},
}


def pretraining(**changes: Any) -> Pretraining:
    return prepare(from_content(CONTENT | changes))


def pretrain(
    wanted: Pretraining, path: Path, compute: Compute = IN_PROCESS, seconds: float = 20.0
) -> Iterator[Progress]:
    """Trains into a file that is open for nobody else meanwhile."""
    with wanted.open(path, compute) as place:
        yield from wanted.steps(place, compute, seconds)


def pretrained(path: Path, **changes: Any) -> Path:
    """The file of a finished pre-training."""
    for _ in pretrain(pretraining(**changes), path):
        pass
    return path
