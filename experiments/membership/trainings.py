"""Membership attacks on trainings on MNIST: of users under their DP, of examples under theirs."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

import fedward
from fedward.attacks.inference import MembershipInference, membership_inference
from fedward.local import DPSGD
from fedward.privacy.guarantee import Unit

DELTA = 1e-5
RATES = ("0.001", "0.01")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Few digits, learned nearly by heart; the defaults are what is reported.

    Args:
      users: of the whole, of which a training has a half (of its users, or of each user's examples).
      examples: of each user, before halving.
      targets: trainings that are attacked.
      shadows: trainings of the attacker's own.
    """

    users: int
    examples: int
    rounds: int
    targets: int
    shadows: int = 16


SETTINGS: dict[Unit, Setting] = {
    "user": Setting(users=200, examples=5, rounds=3, targets=12),
    "example": Setting(users=5, examples=200, rounds=4, targets=3),
}


@dataclass(frozen=True, kw_only=True)
class Task:
    """All trainings of one noise level; without noise nothing is clipped. ``data``: where MNIST lies."""

    unit: Unit
    noise: float | None
    seed: int
    setting: Setting
    data: str | None


def attacked(task: Task) -> dict[str, Any]:
    """Trains targets and shadows, attacks the targets; rates and areas of each attack, and their limits."""
    began = time.process_time()
    setting = task.setting
    federation = drawn(task)
    model = fedward.models.build(
        "logistic_regression", input_shape=(1, 28, 28), num_classes=10, seed=task.seed
    )
    algorithm = protected(task)
    found = membership_inference(
        MembershipInference(unit=task.unit, targets=setting.targets, shadows=setting.shadows),
        algorithm,
        model,
        federation,
        fedward.InProcess(model, federation),
        rounds=setting.rounds,
        seed=task.seed,
    )
    told = found.to_json()
    users = setting.users // 2 if task.unit == "user" else setting.users
    epsilon = None
    if task.noise is not None:
        epsilon = algorithm.guarantee(users, setting.rounds, DELTA, "pld").epsilon
    return {
        "name": f"{task.unit}, {task.noise}",
        "unit": task.unit,
        "noise": task.noise,
        "seed": task.seed,
        "epsilon": epsilon,
        "attacks": {
            name: {
                "auc": attack["auc"]["value"],
                "tpr": {
                    rate: attack["tpr_at_fpr"].get(rate, {}).get("tpr", {}).get("value") for rate in RATES
                },
            }
            for name, attack in told["attacks"].items()
        },
        "negatives": next(iter(found.attacks.values())).negatives,
        "limit": told["limit"],
        "crossed": told["crossed"],
        "member_loss": found.member_loss,
        "other_loss": found.other_loss,
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def drawn(task: Task) -> fedward.Federation:
    """Digits drawn anew for each seed from the 60,000, and dealt to the users at random."""
    whole, setting = _digits(task.data), task.setting
    places = np.random.default_rng(task.seed).permutation(len(whole.examples))
    chosen = torch.from_numpy(places[: setting.users * setting.examples])
    return replace(
        whole,
        examples=whole.examples.select(chosen),
        offsets=torch.arange(setting.users + 1) * setting.examples,
        names=np.arange(setting.users),
    )


@functools.cache
def _digits(data: str | None) -> fedward.Federation:
    return fedward.datasets.mnist.load(data_dir=data, users=1, seed=0)


def protected(task: Task) -> fedward.Algorithm:
    """All users take part in every round. Without noise the same local training is averaged."""
    everyone, users = fedward.EveryoneSampler(), task.setting.users
    if task.unit == "user":
        local = fedward.SGD(learning_rate=0.5, batch_size=5, epochs=8)
        if task.noise is None:
            return fedward.presets.fedavg(sampler=everyone, local=local)
        return fedward.presets.user_dp_fedavg(
            num_users=users // 2,
            sampler=everyone,
            local=local,
            clip_bound=2.0,
            noise_multiplier=task.noise,
        )
    if task.noise is None:
        local = fedward.SGD(learning_rate=0.5, batch_size=20, steps=25)
        return fedward.presets.fedavg(sampler=everyone, local=local)
    private = DPSGD(
        learning_rate=0.5,
        probability=0.2,
        expected_batch=20,
        steps=25,
        clip_bound=1.0,
        noise_multiplier=task.noise,
    )
    return fedward.presets.insdp_fedavg(num_users=users, sampler=everyone, local=private)
