"""What both scripts share: the data with its red cars, one training, and keeping what is finished."""

from __future__ import annotations

import argparse
import functools
import hashlib
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fedward
from fedward.attacks import Attack, PerCohort
from fedward.attacks.poisoning import SemanticBackdoor
from fedward.attacks.poisoning.red_car import RedCar
from fedward.backends import measure
from fedward.core.algorithm import Algorithm
from fedward.core.parameters import ParameterSpec
from fedward.models.initial_weights import load_weights

sys.path.append(str(Path(__file__).parents[1]))  # for support.py, beside the folders of the experiments
from support import Record, parser

HERE = Path(__file__).parent
USERS, ATTACKERS = 100, 20


@dataclass(frozen=True, kw_only=True)
class Training:
    """One setting; ``seed`` decides who attacks, cohorts and noise.

    Args:
      weights: what it starts from.
      split: how the pictures are dealt out to the users.
      keep: where the parameters go at the end, if anywhere.
      seen: how many test pictures measure the main task after every round, and after the last.
      later: added to the seed of cohorts, shuffles and noise, so that they are not those of the warm-up.
    """

    name: str
    seed: int
    rounds: int
    algorithm: Algorithm
    attack: Attack
    weights: Path
    data: str | None
    split: str = "dirichlet"
    keep: Path | None = None
    seen: tuple[int, int] = (500, 2_000)
    later: int = 0

    @property
    def digest(self) -> str:
        """Changes whenever a setting does, whatever its name; all seeds of a setting have the same."""
        settings = repr((self.name, self.rounds, self.algorithm, self.attack, self.split, self.later))
        return hashlib.blake2b(settings.encode(), digest_size=16).hexdigest()


def red_cars(each: int, *, rate: float = 1.0, **how: Any) -> Attack:
    """Red cars are birds: so many of the 20 attackers are in every cohort. Only attackers own red cars."""
    poisoning = SemanticBackdoor(feature=RedCar(standardised=True), target=2, rate=rate)
    return Attack(who=PerCohort(count=ATTACKERS, each=each), data=(poisoning,), **how)


@functools.cache
def cifar10(data: str | None, split: str) -> fedward.Federation:
    """The same split in every process and for every seed; read once."""
    alpha = 0.9 if split == "dirichlet" else None
    return fedward.datasets.cifar10.load(
        data_dir=data, users=USERS, split=split, alpha=alpha, standardise=True, seed=0
    )


def train(task: Training) -> Record:
    """One training: accuracy on the main task and success of the attack after every round."""
    staged = task.attack.stage(task.algorithm, cifar10(task.data, task.split), task.seed)
    model = fedward.models.build("cifar_cnn", input_shape=(3, 32, 32), num_classes=10, seed=task.seed)
    load_weights(task.weights, model, "cifar_cnn")
    backend = fedward.InProcess(model, staged.federation)
    assert staged.goal is not None
    few, more = (replace(staged.goal, clean=staged.goal.clean.span(0, number)) for number in task.seen)
    record: Record = {"name": task.name, "seed": task.seed, "rounds": task.rounds, "settings": task.digest}
    keys = ("accuracy", "attack_success", "attack_cost")
    record |= {key: [] for key in (*keys, "bound", "honest_norm", "malicious_norm")}
    record["start"] = measure(backend, ParameterSpec.of(model).flatten(model), few).to_record()
    for state, log in fedward.rounds(
        staged.algorithm,
        model,
        staged.federation,
        rounds=task.rounds,
        seed=task.seed + task.later,
        adversary=staged.adversary,
        backend=backend,
    ):
        last = log.round + 1 == task.rounds
        found = measure(backend, state.parameters, more if last else few).to_record()
        for key in keys:
            record[key].append(found[key])
        record["bound"].append(log.bounds[0] if math.isfinite(log.bounds[0]) else None)
        assert log.telemetry is not None
        for key, malicious in (("honest_norm", False), ("malicious_norm", True)):
            norms = log.telemetry.norms_of(malicious=malicious)
            record[key].append(float(np.mean(norms)) if norms else None)
    if task.keep:
        spec = ParameterSpec.of(model)
        spec.load(model, state.parameters)
        torch.save(model.state_dict(), task.keep)
    return record


def model_of(weights: Path, seed: int) -> Path:
    """Where the model lies that the attacks of this seed start from."""
    return weights / f"red-cars-{seed}.pt"


def options_of(description: str, *, seeds: int, rounds: int) -> argparse.Namespace:
    """The command line of both scripts."""
    made = parser(description)
    made.add_argument("--weights", type=Path, default=Path("weights"), help="where cifar100.pt lies")
    made.add_argument("--seeds", type=int, default=seeds)
    made.add_argument("--rounds", type=int, default=rounds)
    made.add_argument("--small", action="store_true", help="one seed and five rounds")
    made.add_argument("--show", action="store_true", help="only draw what is finished")
    options = made.parse_args()
    if options.small:
        options.seeds, options.rounds = 1, 5
    return options
