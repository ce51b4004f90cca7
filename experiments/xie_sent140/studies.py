"""What is trained: the paper's own setting, a smaller model from the start, attacks on one that has begun."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import fedward
from fedward.core.algorithm import Algorithm
from fedward.server import ServerAdam

PAPER_NOISE = (1.0, 1.5, 2.0, 3.0, 4.0)
COHORT = 100
"""Expected users a round, in all but the paper's own setting."""

Study = Literal["paper", "scratch", "begun"]


@dataclass(frozen=True, kw_only=True)
class Training:
    """One training; ``seed`` decides model, cohorts, attackers and noise. Without noise it is FedAvg."""

    name: str
    study: Study
    seed: int
    noise: float | None
    rounds: int
    attackers: int = 0
    factor: float = 1.0
    hidden: int = 32
    every: int = 12

    def algorithm(self, num_users: int) -> Algorithm:
        parts = paper_parts() if self.study == "paper" else our_parts(num_users, self.study)
        clip_bound = parts.pop("clip_bound")
        if self.noise is None:
            return fedward.presets.fedavg(**parts)
        return fedward.presets.user_dp_fedavg(
            **parts, num_users=num_users, clip_bound=clip_bound, noise_multiplier=self.noise
        )


def paper_parts() -> dict[str, Any]:
    """Table 1 of the paper; 10 of our 2,300 users, not of 805."""
    local = fedward.SGD(learning_rate=0.3, batch_size=10, epochs=3, momentum=0.9, weight_decay=5e-4)
    return {"sampler": fedward.FixedSizeSampler(size=10), "local": local, "clip_bound": 0.5}


def our_parts(num_users: int, study: Study) -> dict[str, Any]:
    """Many users a round, so that noise averages out; chosen on training users (README.md)."""
    return {
        "sampler": fedward.PoissonSampler(rate=COHORT / num_users),
        "local": fedward.SGD(learning_rate=1.0, batch_size=10, epochs=1),
        "server": ServerAdam(learning_rate=0.01 if study == "scratch" else 0.003),
        "clip_bound": 0.3,
    }


def trainings(seeds: int) -> Iterator[Training]:
    """In the order of their importance: what is killed early loses the least."""
    for seed in range(seeds):
        for attackers in (0, 170, 510):
            yield begun("FedAvg", None, attackers, seed)
            yield begun("user DP, z = 1", 1.0, attackers, seed)
    for seed in range(seeds):
        for noise in (None, *PAPER_NOISE):
            name = "paper's setting, " + ("no noise" if noise is None else f"σ = {noise:g}")
            yield Training(name=name, study="paper", seed=seed, noise=noise, rounds=3, hidden=256)
    for seed in range(seeds):
        yield Training(name="from the start, FedAvg", study="scratch", seed=seed, noise=None, rounds=60)
    for seed in range(seeds):
        yield begun("FedAvg", None, 17, seed, factor=50.0)
        yield begun("user DP, z = 1", 1.0, 17, seed, factor=50.0)
        yield begun("user DP, z = 4", 4.0, 0, seed)
    for seed in range(seeds):
        yield Training(
            name="from the start, user DP, z = 1", study="scratch", seed=seed, noise=1.0, rounds=60
        )
    yield Training(
        name="from the start, FedAvg, 256 units", study="scratch", seed=0, noise=None, rounds=60, hidden=256
    )


def begun(kind: str, noise: float | None, attackers: int, seed: int, *, factor: float = 1.0) -> Training:
    """24 rounds from a model that public accounts have trained."""
    scaled = "" if factor == 1 else f", γ = {factor:g}"
    return Training(
        name=f"{kind}, {attackers} flip{scaled}",
        study="begun",
        seed=seed,
        noise=noise,
        rounds=24,
        attackers=attackers,
        factor=factor,
    )
