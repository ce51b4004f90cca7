"""A finished run of every kind, as small as they come."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import fedward
from config.tiny_sweep import CONTENT
from fedward.attacks.inference import MembershipInference, PropertyInference
from studies.self_protected_runs import INSDP
from tiny_experiment import changed

ATTACK = {"who": {"name": "random", "count": 2}, "data": [{"name": "label_flip", "target": 0}]}
EVERYONE = changed(CONTENT, algorithm__sampler={"name": "everyone"})
NOISES = {"algorithm.noise_multiplier": [1.0, 3.0]}


def run_of(kind: str, folder: Path, seed: int = 1) -> Path:
    """A run of this kind in a directory; another seed gives another run of the same kind."""
    out = folder / f"{kind.replace(' ', '-')}-{seed}"
    MAKERS[kind](out, seed)
    return out


def _train(out: Path, seed: int, **more: Any) -> None:
    fedward.train(CONTENT | more | {"seed": seed}, out=out, quiet=True)


def _replicas(out: Path, seed: int, **more: Any) -> None:
    fedward.replicas(CONTENT | {"seed": seed}, replicas=3, block=2, out=out, quiet=True, **more)


def _certify(out: Path, seed: int) -> None:
    content = changed(CONTENT, privacy__users=12, seed=seed)
    fedward.certify(content, replicas=4, score="vote", block=2, vary=NOISES, out=out, quiet=True)


def _sweep(out: Path, seed: int) -> None:
    fedward.sweep(CONTENT, vary=NOISES, seeds=[seed, seed + 1], out=out, quiet=True)


def _membership(out: Path, seed: int) -> None:
    content = changed(EVERYONE, data__users=20, seed=seed)
    question = MembershipInference(unit="user", targets=1, shadows=4)
    fedward.infer(content, inference=question, out=out, quiet=True)


def _property(out: Path, seed: int) -> None:
    content, question = changed(EVERYONE, rounds=12, seed=seed), PropertyInference(features=5)
    which = "label:2" if seed == 1 else "label:0"
    fedward.infer(content, inference=question, property=which, users=3, out=out, quiet=True)


MAKERS: dict[str, Callable[[Path, int], None]] = {
    "training": _train,
    "attacked training": partial(_train, attack=ATTACK),
    "training of users": partial(_train, algorithm=INSDP),
    "replicas": _replicas,
    "replicas saving space": partial(_replicas, save_space=True),
    "certification": _certify,
    "sweep": _sweep,
    "membership": _membership,
    "property": _property,
}
