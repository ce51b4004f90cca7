"""What the three studies share: the data, one training under attack, and keeping what is finished."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import track
from scipy import stats

import fedward
from fedward.attacks import Attack
from fedward.backends import measure
from fedward.core.algorithm import Algorithm

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "attacks"


@dataclass(frozen=True, kw_only=True)
class Training:
    """One setting of a study; ``seed`` decides model, cohorts, attackers and noise."""

    name: str
    seed: int
    rounds: int
    algorithm: Algorithm
    attack: Attack
    model: str = "mlp"
    classes: tuple[int, ...] = tuple(range(10))
    every: int = 5


_federations: dict[tuple[int, ...], fedward.Federation] = {}
_data: str | None = None


def prepare(data: str | None) -> None:
    """Once in every worker."""
    global _data
    torch.set_num_threads(1)
    _data = data


def train(task: Training) -> dict[str, Any]:
    """One training: accuracy, attack success and cost, and the norms of updates, over rounds."""
    if task.classes not in _federations:
        _federations[task.classes] = federation(_data, task.classes)
    staged = task.attack.stage(task.algorithm, _federations[task.classes], task.seed)
    model = fedward.models.build(
        task.model, input_shape=(1, 28, 28), num_classes=len(task.classes), seed=task.seed
    )
    backend = fedward.InProcess(model, staged.federation)
    record: dict[str, Any] = {"name": task.name, "seed": task.seed, "rounds": task.rounds, "round": []}
    keys = ("accuracy", "loss", "attack_success", "attack_cost")
    record |= {key: [] for key in (*keys, "honest_norm", "malicious_norm", "kept")}
    states = fedward.train(
        staged.algorithm,
        model,
        staged.federation,
        rounds=task.rounds,
        seed=task.seed,
        adversary=staged.adversary,
        backend=backend,
    )
    for state, log in states:
        if log.kept:
            record["kept"].append(log.round)
        if (log.round + 1) % task.every and log.round + 1 != task.rounds:
            continue
        assert staged.goal is not None
        assert log.telemetry is not None
        found = measure(backend, state.parameters, staged.goal).to_record()
        record["round"].append(log.round + 1)
        for key in keys:
            record[key].append(found.get(key))
        for key, malicious in (("honest_norm", False), ("malicious_norm", True)):
            norms = log.telemetry.norms_of(malicious=malicious)
            record[key].append(float(np.mean(norms)) if norms else None)
    return record


def finished(results: Path) -> list[dict[str, Any]]:
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text().splitlines()]


def carry_out(tasks: Iterable[Training], results: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what is not finished yet, on all cores, and returns the results of all tasks."""
    tasks = list(tasks)
    done = {(record["name"], record["seed"], record["rounds"]) for record in finished(results)}
    left = [] if options.show else [t for t in tasks if (t.name, t.seed, t.rounds) not in done]
    left.sort(key=lambda task: task.seed)
    if left:
        context = multiprocessing.get_context("spawn")
        with context.Pool(os.cpu_count(), prepare, (options.data,)) as pool, results.open("a") as file:
            for record in track(pool.imap_unordered(train, left), "training", total=len(left)):
                file.write(json.dumps(record) + "\n")
                file.flush()
    wanted = {(task.name, task.seed, task.rounds) for task in tasks}
    return [r for r in finished(results) if (r["name"], r["seed"], r["rounds"]) in wanted]


def arguments(description: str, seeds: int, rounds: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", help="where MNIST/raw lies; else FEDWARD_DATA")
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--show", action="store_true", help="only draw what is finished")
    return parser.parse_args()


def federation(data: str | None, classes: tuple[int, ...]) -> fedward.Federation:
    """Ten digits: 100 users of 600. Two digits: 200 users of 63, as in paper 002."""
    users = 200 if len(classes) == 2 else 100
    return fedward.datasets.mnist.load(data_dir=data, users=users, classes=classes, seed=0)


def interval(values: Iterable[float], digits: int = 1) -> str:
    """Mean and the half width of Student's 95 % interval over seeds, in percent."""
    numbers = 100 * np.array(list(values), dtype=float)
    if len(numbers) < 2:
        return f"{numbers.mean():.{digits}f}"
    half = stats.t.ppf(0.975, len(numbers) - 1) * numbers.std(ddof=1) / np.sqrt(len(numbers))
    return f"{numbers.mean():.{digits}f} ± {half:.{digits}f}"


def grouped(records: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The results of each setting."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault(record["name"], []).append(record)
    return groups


def band(records: list[dict[str, Any]], key: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, least and largest over seeds, round by round."""
    curves = np.array([record[key] for record in records], dtype=float)
    return curves.mean(0), curves.min(0), curves.max(0)
