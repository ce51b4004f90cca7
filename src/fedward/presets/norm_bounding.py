"""Norm bounding and weak DP: defences that clip, with no noise or too little for privacy."""

from __future__ import annotations

from fedward.aggregation import Mean
from fedward.base.randomness import Source
from fedward.base.validate import positive
from fedward.clipping import FixedBound, FlatNorm
from fedward.core.algorithm import Algorithm
from fedward.core.types import LocalTrainer, Sampler, ServerOptimizer
from fedward.mechanisms import NoNoise
from fedward.presets.noisy_mean import expected_cohort, noisy_mean
from fedward.server import ServerStep


def norm_bounding(
    *,
    num_users: int,
    sampler: Sampler,
    local: LocalTrainer,
    clip_bound: float,
    server: ServerOptimizer | None = None,
) -> Algorithm:
    """Norm bounding: the server clips every update and adds no noise.

        w ← w + (1 / m̄) Σ_i clip(Δ_i, S)

    No guarantee of privacy; one user moves the model by at most S/m̄ in a round.

    Sun, Kairouz, Suresh, McMahan 2019; Miao et al.
    """
    return Algorithm(
        name="norm_bounding",
        sampler=sampler,
        local=local,
        norm=FlatNorm(),
        policy=FixedBound(clip_bound=clip_bound),
        aggregator=Mean(expected_cohort=expected_cohort(sampler, num_users)),
        mechanism=NoNoise(),
        server=server or ServerStep(),
    )


def weak_dp(
    *,
    num_users: int,
    sampler: Sampler,
    local: LocalTrainer,
    clip_bound: float,
    noise_std: float,
    noise_source: Source = "seeded",
    server: ServerOptimizer | None = None,
) -> Algorithm:
    """Weak DP: norm bounding and a little noise, enough to disturb a backdoor, far too little for privacy.

        w ← w + (1 / m̄) Σ_i clip(Δ_i, S) + N(0, σ² I)

    Guarantee: the ε that this noise really buys, which is huge: its multiplier is σ m̄ / S.

    Args:
      noise_std: σ: the standard deviation of the noise on the mean of the updates.

    Sun, Kairouz, Suresh, McMahan 2019; Miao et al.
    """
    cohort = expected_cohort(sampler, num_users)
    multiplier = positive("noise std", noise_std) * cohort / positive("clip bound", clip_bound)
    policy = FixedBound(clip_bound=clip_bound)
    return noisy_mean("weak_dp", num_users, sampler, local, policy, multiplier, noise_source, server)
