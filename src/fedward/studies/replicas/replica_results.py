"""The results of replicas on test examples: confidences, votes, costs, and mean accuracy with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedward.backends.engines.evaluation import Metrics
from fedward.backends.protocol import Backend
from fedward.base.arrays_file import Arrays, read_array
from fedward.base.validate import InvalidValue
from fedward.certificates.copies import require_no_copies
from fedward.certificates.replica_scores import Replicas, has_favourite
from fedward.certificates.tally import Tally, votes_of
from fedward.core.examples import Examples
from fedward.rundir.replica_store import (
    count_finished,
    finished_blocks,
    for_every_replica,
    stored_draw,
    stored_files,
)
from fedward.rundir.results import Mean, ReplicasResult
from fedward.rundir.store import RunDirectory
from fedward.studies.progress import Progress
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
    for name, examples in setup.triggered:
        metrics = []
        for metric in _measure_attack(setup, backend, models, name, examples):
            metrics.append(metric)
            yield tick("attack evaluation")
        arrays[f"success.{name}"] = np.array([m.accuracy * (not np.isnan(m.loss)) for m in metrics])
        arrays[f"cost.{name}"] = np.array([m.loss for m in metrics])
    return arrays


def _measure_attack(
    setup: Setup, backend: Backend, models: Sequence[Tensor], name: str, examples: Examples
) -> Iterator[Metrics]:
    """Each model on the triggered examples of one poisoning, with its own trigger where that is fitted."""
    goal = setup.goal
    if goal is None or name not in (each for each, _, _ in goal.following):
        yield from backend.evaluate_many(models, examples)
        return
    for parameters in models:
        yield backend.evaluate(parameters, dict(goal.at_model(parameters).triggered)[name])


def summarise(path: Path, variants: Sequence[str]) -> ReplicasResult:
    """Accuracy of each variant over all replicas with a 95 % interval for its mean, and the jobs it took."""
    blocks = for_every_replica(path)
    found: dict[str, dict[str, Mean]] = {name: {} for name in variants}
    for key in blocks[0]:
        name, _, measure = key.rpartition("/")  # accuracy, and success and cost of attacks
        if name in found:
            values = np.concatenate([block[key] for block in blocks]).tolist()
            found[name][measure] = Mean.of(values, most=math.inf if measure.startswith("cost") else 1.0)
    return ReplicasResult(
        replicas=count_finished(path),
        jobs_asked_for=int(sum(block["asked"] for block in blocks)),
        jobs_run=int(sum(block["run"] for block in blocks)),
        variants=found,
    )


def load_tally(path: Path, variant: str, *, grouped: bool = False) -> Tally:
    """How the finished replicas of one variant voted, from their confidences or from running sums.

    Args:
      path: the run directory of ``fedward replicas`` or ``fedward certify``.
      variant: its name.
      grouped: whether they were trained on groups of users: then two of them may be the same, for they may
        have the same users, or none.
    """
    files, sums = stored_files(path), path / "sums.npz"
    if not files:
        raise InvalidValue(f"{path} holds no finished replicas")
    if files == [sums]:
        counts, replicas = read_array(sums, f"{variant}/votes"), int(read_array(sums, "replicas"))
    else:
        counts, replicas = _count_votes(files, variant, finished_blocks(path)[-1][1], grouped)
    return Tally(counts=counts, replicas=replicas, **_about(path, variant))


def _count_votes(
    files: Sequence[Path], variant: str, replicas: int, grouped: bool
) -> tuple[NDArray[np.int64], int]:
    """The votes that follow from the confidences of all blocks, none of which may be there twice."""
    found: list[NDArray[np.int64]] = []

    def rows() -> Iterator[NDArray[Any]]:
        for file in files:
            scores = read_array(file, f"{variant}/scores")
            found.append(votes_of(scores))
            yield from scores

    if grouped:
        for _ in rows():
            pass
    else:
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
    experiments = RunDirectory(path).manifest().variants or {}
    if variant is None and len(experiments) == 1:
        variant = next(iter(experiments))
    if variant not in experiments:
        raise InvalidValue(f"variant must be one of {', '.join(experiments)}, got {variant!r}")
    scores = np.concatenate([read_array(path / name, f"{variant}/scores") for _, _, name in blocks])
    return Replicas(scores=scores, numbers=np.arange(len(scores)), **_about(path, variant))


def load_group_votes(path: Path, variant: str) -> Replicas:
    """The vote of every finished model of a variant, where each was trained on a group of users."""
    votes = []
    for file in stored_files(path):
        scores = read_array(file, f"{variant}/scores")
        favoured = scores.argmax(axis=2)[:, :, None] == np.arange(scores.shape[2])
        votes.append((favoured & has_favourite(scores)[:, :, None]).astype(np.uint8))
    if not votes:
        raise InvalidValue(f"{path} holds no finished replicas")
    together = np.concatenate(votes)
    return Replicas(scores=together, numbers=np.arange(len(together)), score="vote", **_about(path, variant))


def load_costs(path: Path, variant: str, setup: Setup) -> NDArray[np.float64]:
    """min(C, C̄) of every replica of a variant; C is the mean loss over all triggered test examples."""
    bound = cost_bound(setup)
    if not setup.triggered:
        raise InvalidValue("attack cost needs an attack with triggered test examples, got none")
    weights = np.array([len(examples) for _, examples in setup.triggered], dtype=np.float64)
    keys = [f"{variant}/cost.{name}" for name, _ in setup.triggered]
    found = np.stack([np.concatenate([read_array(file, key) for file in stored_files(path)]) for key in keys])
    mean = (found * weights[:, None]).sum(axis=0) / weights.sum()
    # A cost that is no number is no small one.
    return np.where(np.isnan(mean), bound, np.minimum(mean, bound))


def cost_bound(setup: Setup) -> float:
    """C̄ of an experiment."""
    section = setup.experiment.attack
    if section is None or section.cost_bound is None:
        raise InvalidValue(
            "attack cost needs a bound that is fixed beforehand: give cost_bound in the [attack] table"
        )
    return float(section.cost_bound)


def _about(path: Path, variant: str) -> dict[str, Any]:
    """What the replicas of a variant were drawn from, and the true classes of the test examples."""
    return {
        "seed": (RunDirectory(path).manifest().variants or {})[variant]["seed"],
        "labels": read_array(path / "labels.npz", "labels"),
        "draw": stored_draw(path) or "",
    }
