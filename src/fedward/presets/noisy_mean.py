"""The core of every algorithm with central DP: a noisy mean of clipped updates."""

from __future__ import annotations

from fedward.aggregation import Mean
from fedward.base.randomness import Source
from fedward.base.validate import whole
from fedward.clipping import FlatNorm
from fedward.core.algorithm import Algorithm
from fedward.core.types import ClipPolicy, LocalTrainer, Norm, Sampler, ServerOptimizer
from fedward.mechanisms import GaussianNoise
from fedward.server import ServerStep


def noisy_mean(
    name: str,
    num_users: int,
    sampler: Sampler,
    local: LocalTrainer,
    policy: ClipPolicy,
    noise_multiplier: float,
    noise_source: Source,
    server: ServerOptimizer | None,
    norm: Norm | None = None,
) -> Algorithm:
    """The mean over the expected cohort of updates clipped by ``norm`` and ``policy``, with noise."""
    return Algorithm(
        name=name,
        sampler=sampler,
        local=local,
        norm=norm or FlatNorm(),
        policy=policy,
        aggregator=Mean(expected_cohort=expected_cohort(sampler, num_users)),
        mechanism=GaussianNoise(multiplier=noise_multiplier, source=noise_source),
        server=server or ServerStep(),
    )


def expected_cohort(sampler: Sampler, num_users: int) -> float:
    """The declared cohort size, of a declared number of users."""
    sampler.check(whole("number of users", num_users))
    return sampler.expected_size(num_users)
