"""What replicas say about test examples, and what that amounts to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor

from fedward.backends import InProcess, Workers
from fedward.certify.replicas import Replicas
from fedward.core.validate import InvalidValue
from fedward.experiment.replica_progress import ReplicaClock
from fedward.experiment.replica_store import Arrays, ReplicaDirectory, finished_blocks, read_arrays
from fedward.experiment.setup import Setup
from fedward.experiment.store import RunDirectory


def measured(
    setup: Setup, backend: InProcess | Workers, models: Sequence[Tensor], clock: ReplicaClock
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Confidences ``[models, examples, classes]`` and accuracy; under attack success and cost as well."""
    test = setup.federation.test
    assert test is not None  # checked when the run was made
    scores = []
    for confidences in backend.confidences(models, test):
        scores.append(confidences[:, : setup.federation.num_classes])
        clock.tick("evaluation")
    found = np.stack(scores)
    yield "scores", found
    # A model that is not finite has the same confidence in all classes: it predicts nothing.
    decided = found.max(axis=2) > found.min(axis=2)
    yield "accuracy", ((found.argmax(axis=2) == test.y.numpy()) & decided).mean(axis=1)
    goal = setup.attack.goal if setup.attack is not None else None
    for name, examples in goal.triggered if goal is not None else ():
        metrics = list(backend.evaluate_many(models, examples))
        yield f"success.{name}", np.array([m.accuracy * (not np.isnan(m.loss)) for m in metrics])
        yield f"cost.{name}", np.array([m.loss for m in metrics])


def summary(directory: ReplicaDirectory, variants: Sequence[str]) -> dict[str, Any]:
    """Accuracy of each variant over all replicas with a 95 % interval for its mean, and the jobs it took."""
    blocks = directory.arrays()
    result: dict[str, Any] = {
        "replicas": directory.finished(),
        "jobs_asked_for": int(sum(block["asked"] for block in blocks)),
        "jobs_run": int(sum(block["run"] for block in blocks)),
        "variants": {},
    }
    for name in variants:
        # One number for each replica: accuracy, and success and cost of attacks.
        keys = [key for key in blocks[0] if key.rpartition("/")[0] == name and blocks[0][key].ndim == 1]
        result["variants"][name] = {
            key.rpartition("/")[2]: _interval(np.concatenate([block[key] for block in blocks]))
            for key in keys
        }
    return result


def _interval(values: NDArray[Any]) -> dict[str, float | None]:
    mean = float(values.mean())
    if len(values) < 2 or not np.isfinite(mean):
        return {"mean": mean, "low": None, "high": None}
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    width = float(stats.t.ppf(0.975, len(values) - 1)) * error
    return {"mean": mean, "low": mean - width, "high": mean + width}


def load_replicas(path: Path, variant: str | None = None) -> Replicas:
    """The confidences of all finished replicas of one variant: what a certificate is computed from.

    Args:
      path: the run directory of ``fedward replicas``.
      variant: its name; not needed where there is only one.
    """
    blocks: list[Arrays] = [read_arrays(path / name) for _, _, name in finished_blocks(path)]
    if not blocks:
        raise InvalidValue(f"{path} holds no confidences of single replicas")
    experiments = RunDirectory(path).manifest()["experiment"]["variants"]
    if variant is None and len(experiments) == 1:
        variant = next(iter(experiments))
    if variant not in experiments:
        raise InvalidValue(f"variant must be one of {', '.join(experiments)}, got {variant!r}")
    scores = np.concatenate([block[f"{variant}/scores"] for block in blocks])
    return Replicas(
        scores=scores,
        numbers=np.arange(len(scores)),
        seed=experiments[variant]["seed"],
        labels=read_arrays(path / "labels.npz")["labels"],
    )
