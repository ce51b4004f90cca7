"""Federated averaging and federated SGD, without privacy."""

from __future__ import annotations

from fedward.aggregation import WeightedMean
from fedward.clipping import FlatNorm, NoClipping
from fedward.core.algorithm import Algorithm
from fedward.core.types import LocalTrainer, Sampler, ServerOptimizer
from fedward.local import FullGradient
from fedward.mechanisms import NoNoise
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
        mechanism=NoNoise(),
        server=server or ServerStep(),
    )


def fedsgd(*, sampler: Sampler, learning_rate: float, learning_rate_decay: float = 1.0) -> Algorithm:
    """Federated SGD: each user sends one gradient over all of its examples, the server takes a step.

        w ← w - η Σ_i (n_i / Σ_j n_j) ∇L_i(w)

    No guarantee: nothing is clipped and no noise is added.

    Args:
      learning_rate: η: the length of the server's step.
      learning_rate_decay: d: the learning rate is multiplied by it after every round. That of round t is η
        d^t.

    McMahan et al. 2017; the study of clip sizes under LDP (docs/references.md), algorithm 1.
    """
    return Algorithm(
        name="fedsgd",
        sampler=sampler,
        local=FullGradient(learning_rate_decay=learning_rate_decay),
        norm=FlatNorm(),
        policy=NoClipping(),
        aggregator=WeightedMean(),
        mechanism=NoNoise(),
        server=ServerStep(learning_rate=learning_rate),
    )
