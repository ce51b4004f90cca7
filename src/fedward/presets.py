"""Each published algorithm as a composition of parts, named after its paper."""

from __future__ import annotations

from collections.abc import Callable

from fedward.aggregation import Mean, WeightedMean
from fedward.clipping import FixedBound, FlatNorm, NoClipping
from fedward.core.algorithm import Algorithm
from fedward.core.randomness import Source
from fedward.core.types import LocalTrainer, Sampler, ServerOptimizer
from fedward.core.validate import whole
from fedward.local import FullGradient
from fedward.noise import GaussianNoise, NoNoise
from fedward.server import ServerStep


def fedavg(*, sampler: Sampler, local: LocalTrainer, server: ServerOptimizer | None = None) -> Algorithm:
    """Federated averaging: users train locally, the server averages by the number of examples.

        w ← w + Σ_i (n_i / Σ_j n_j) Δ_i

    No guarantee: nothing is clipped and no noise is added.

    McMahan et al. 2017, algorithm 1.
    """
    return Algorithm(
        name="fedavg",
        sampler=sampler,
        local=local,
        norm=FlatNorm(),
        policy=NoClipping(),
        aggregator=WeightedMean(),
        noise=NoNoise(),
        server=server or ServerStep(),
    )


def fedsgd(*, sampler: Sampler, learning_rate: float, learning_rate_decay: float = 1.0) -> Algorithm:
    """Federated SGD: each user sends one gradient over all of its examples, the server takes a step.

        w ← w - η Σ_i (n_i / Σ_j n_j) ∇L_i(w)

    No guarantee: nothing is clipped and no noise is added.

    McMahan et al. 2017; algorithm 1 of paper 003.
    """
    return Algorithm(
        name="fedsgd",
        sampler=sampler,
        local=FullGradient(learning_rate_decay=learning_rate_decay),
        norm=FlatNorm(),
        policy=NoClipping(),
        aggregator=WeightedMean(),
        noise=NoNoise(),
        server=ServerStep(learning_rate=learning_rate),
    )


def user_dp_fedavg(
    *,
    num_users: int,
    sampler: Sampler,
    local: LocalTrainer,
    clip_bound: float,
    noise_multiplier: float,
    noise_source: Source = "seeded",
    server: ServerOptimizer | None = None,
) -> Algorithm:
    """User-level DP federated averaging with flat clipping.

        w ← w + (1 / m̄) (Σ_i clip(Δ_i, S) + N(0, z² S² I)),    m̄ the expected cohort

    Guarantee: user-level (ε, δ) by the sampler's adjacency: one user added or removed under Poisson
    sampling (multiplier z), one user replaced under fixed-size sampling (multiplier z/2).

    Args:
      num_users: the declared number of users N. It fixes m̄ and does not move when somebody joins or leaves.
      clip_bound: S.
      noise_multiplier: z, the paper's σ.

    McMahan et al. 2018; Xie et al. (paper 002), algorithm 1.
    """
    whole("number of users", num_users)
    sampler.check(num_users)
    return Algorithm(
        name="user_dp_fedavg",
        sampler=sampler,
        local=local,
        norm=FlatNorm(),
        policy=FixedBound(clip_bound=clip_bound),
        aggregator=Mean(expected_cohort=sampler.expected_size(num_users)),
        noise=GaussianNoise(multiplier=noise_multiplier, source=noise_source),
        server=server or ServerStep(),
    )


PRESETS: dict[str, Callable[..., Algorithm]] = {
    "fedavg": fedavg,
    "fedsgd": fedsgd,
    "user_dp_fedavg": user_dp_fedavg,
}
