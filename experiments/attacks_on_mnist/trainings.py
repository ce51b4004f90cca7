"""What the three studies share: the data, one training under attack, and keeping what is finished."""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import fedward
from fedward.attacks import Attack
from fedward.backends import measure
from fedward.core.algorithm import Algorithm

sys.path.append(str(Path(__file__).parents[1]))  # for support.py, beside the folders of the experiments
import support
from support import Record, band, finished, grouped, interval, seeds_and_rounds

__all__ = [
    "DOCS",
    "HERE",
    "Record",
    "Training",
    "band",
    "carry_out",
    "grouped",
    "interval",
    "seeds_and_rounds",
]

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "attacks"


@dataclass(frozen=True, kw_only=True)
class Training:
    """One setting of a study; ``seed`` decides model, cohorts, attackers and noise.

    Args:
      digits: how many each user has; all of them are dealt out if not given.
      every: after so many rounds it is measured.
    """

    name: str
    seed: int
    rounds: int
    algorithm: Algorithm
    attack: Attack
    model: str = "mlp"
    classes: tuple[int, ...] = tuple(range(10))
    digits: int | None = None
    every: int = 5

    @property
    def key(self) -> tuple[str, int, int]:
        """What tells one record from another in a file of results."""
        return self.name, self.seed, self.rounds

    @property
    def users(self) -> int:
        """Ten digits: 100 users of 600. Two digits: 200 users of 63, as in Xie et al."""
        return 200 if len(self.classes) == 2 else 100

    @property
    def digest(self) -> str:
        """Changes whenever a setting does, whatever its name; all seeds of a setting have the same."""
        settings = repr((described(replace(self, seed=0, every=1)), self.users))
        return hashlib.blake2b(settings.encode(), digest_size=16).hexdigest()


def described(value: Any) -> Any:
    """A setting without what stands at its default, so that a part may get a new option later on."""
    if isinstance(value, tuple | list):
        return [described(each) for each in value]
    if not is_dataclass(value):
        return value
    return type(value).__name__, {
        field.name: described(getattr(value, field.name))
        for field in fields(value)
        if field.init and getattr(value, field.name) != field.default
    }


def train(task: Training) -> Record:
    """One training: accuracy, attack success and cost, and the norms of updates, over rounds."""
    began = time.process_time()
    federation = support.mnist(task.users, task.classes, task.digits)
    staged = task.attack.stage(task.algorithm, federation, task.seed)
    model = fedward.models.build(
        task.model, input_shape=(1, 28, 28), num_classes=len(task.classes), seed=task.seed
    )
    backend = fedward.InProcess(model, staged.federation)
    record: Record = {"name": task.name, "seed": task.seed, "rounds": task.rounds, "settings": task.digest}
    keys = ("accuracy", "loss", "attack_success", "attack_cost")
    record |= {key: [] for key in ("round", *keys, "honest_norm", "malicious_norm", "kept")}
    states = fedward.rounds(
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
    record["cpu_seconds"] = round(time.process_time() - began, 1)
    return record


def carry_out(tasks: Iterable[Training], results: Path, options: argparse.Namespace) -> list[Record]:
    """Runs what is not finished yet, on all cores, and returns the results of all tasks."""
    wanted = {task.key: task for task in tasks}
    done = set(_records(results, wanted))
    left = [] if options.show else [task for key, task in wanted.items() if key not in done]
    left.sort(key=lambda task: task.seed)
    support.carry_out(train, left, results, options.data, options.processes)
    return list(_records(results, wanted).values())


def _records(results: Path, wanted: dict[tuple[str, int, int], Training]) -> dict[Any, Record]:
    """The finished ones of these tasks; refused where one has the name of a task but other settings."""
    found: dict[Any, Record] = {}
    for record in finished(results):
        key = record["name"], record["seed"], record["rounds"]
        if key in wanted:
            # Records from before there was a digest have none, and are taken by their name.
            if record.get("settings", wanted[key].digest) != wanted[key].digest:
                raise SystemExit(
                    f"{results.name} holds {record['name']!r}, seed {record['seed']}, trained with other "
                    "settings than it has now: give the setting a new name, or take those lines out"
                )
            found[key] = record
    return found
