"""The results of replicas on test examples: confidences, votes, and mean accuracy with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedward.backends.protocol import Backend
from fedward.base.arrays_file import Arrays, read_array
from fedward.base.validate import InvalidValue
from fedward.certificates.copies import require_no_copies
from fedward.certificates.replica_scores import Replicas, has_favourite
from fedward.certificates.tally import Tally, votes_of
from fedward.rundir.replica_draw import stored_draw
from fedward.rundir.replica_store import ReplicaDirectory, finished_blocks, stored_files
from fedward.rundir.results import Mean, ReplicasResult
from fedward.rundir.store import RunDirectory
from fedward.studies.progress import Progress
from fedward.studies.replicas.replica_setup import triggered_examples
from fedward.studies.training.setup import Setup


def measure_replicas(
    setup: Setup, backend: Backend, models: Sequence[Tensor], tick: Callable[[str], Progress]
) -> Generator[Progress, None, Arrays]:
    """Confidences ``[models, examples, classes]`` and accuracy; under attack success and cost as well."""
    test = setup.federation.test
    assert test is not None  # checked when the run was made
    labels, classes = test.y.numpy(), setup.federation.num_classes
    scores = np.empty((len(models), len(test), classes), dtype=np.float32)
    accuracy = np.empty(len(models))
    for number, confidences in enumerate(backend.confidences(models, test)):
        each = scores[number]
        each[:] = confidences[:, :classes]
        accuracy[number] = ((each.argmax(axis=1) == labels) & has_favourite(each)).mean()
        yield tick("evaluation")
    arrays: Arrays = {"scores": scores, "accuracy": accuracy}
    for name, examples in triggered_examples(setup):
        metrics = []
        for metric in backend.evaluate_many(models, examples):
            metrics.append(metric)
            yield tick("attack evaluation")
        arrays[f"success.{name}"] = np.array([m.accuracy * (not np.isnan(m.loss)) for m in metrics])
        arrays[f"cost.{name}"] = np.array([m.loss for m in metrics])
    return arrays


def summarise(directory: ReplicaDirectory, variants: Sequence[str]) -> ReplicasResult:
    """Accuracy of each variant over all replicas with a 95 % interval for its mean, and the jobs it took."""
    blocks = directory.for_every_replica()
    return ReplicasResult(
        replicas=directory.finished(),
        jobs_asked_for=int(sum(block["asked"] for block in blocks)),
        jobs_run=int(sum(block["run"] for block in blocks)),
        variants={
            name: {
                # Accuracy, and success and cost of attacks.
                key.rpartition("/")[2]: _interval(key, np.concatenate([block[key] for block in blocks]))
                for key in blocks[0]
                if key.rpartition("/")[0] == name
            }
            for name in variants
        },
    )


def _interval(key: str, values: NDArray[Any]) -> Mean:
    cost = key.rpartition("/")[2].startswith("cost")
    return Mean.of(values.tolist(), most=math.inf if cost else 1.0)


def load_tally(path: Path, variant: str) -> Tally:
    """How the finished replicas of one variant voted, from their confidences or from running sums.

    Args:
      path: the run directory of ``fedward replicas`` or ``fedward certify``.
      variant: its name.
    """
    files, sums = stored_files(path), path / "sums.npz"
    if not files:
        raise InvalidValue(f"{path} holds no finished replicas")
    if files == [sums]:
        counts, replicas = read_array(sums, f"{variant}/votes"), int(read_array(sums, "replicas"))
    else:
        counts, replicas = _count_votes(files, variant, finished_blocks(path)[-1][1])
    seed = _experiments(path)[variant]["seed"]
    labels = read_array(path / "labels.npz", "labels")
    return Tally(counts=counts, replicas=replicas, seed=seed, labels=labels, draw=stored_draw(path) or "")


def _count_votes(files: Sequence[Path], variant: str, replicas: int) -> tuple[NDArray[np.int64], int]:
    """The votes that follow from the confidences of all blocks, none of which may be there twice."""
    found: list[NDArray[np.int64]] = []

    def rows() -> Iterator[NDArray[Any]]:
        for file in files:
            scores = read_array(file, f"{variant}/scores")
            found.append(votes_of(scores))
            yield from scores

    require_no_copies(rows(), replicas)
    return np.sum(found, axis=0), replicas


def load_replicas(path: Path, variant: str | None = None) -> Replicas:
    """The confidences of all finished replicas of one variant: what a certificate is computed from.

    Args:
      path: the run directory of ``fedward replicas``.
      variant: its name; not needed where there is only one.
    """
    blocks = finished_blocks(path)
    if not blocks:
        raise InvalidValue(f"{path} holds no confidences of single replicas")
    experiments = _experiments(path)
    if variant is None and len(experiments) == 1:
        variant = next(iter(experiments))
    if variant not in experiments:
        raise InvalidValue(f"variant must be one of {', '.join(experiments)}, got {variant!r}")
    scores = np.concatenate([read_array(path / name, f"{variant}/scores") for _, _, name in blocks])
    return Replicas(
        scores=scores,
        numbers=np.arange(len(scores)),
        seed=experiments[variant]["seed"],
        labels=read_array(path / "labels.npz", "labels"),
        draw=stored_draw(path) or "",
    )


def _experiments(path: Path) -> dict[str, dict[str, Any]]:
    return RunDirectory(path).manifest().variants or {}
