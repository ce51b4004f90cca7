"""Central DP and clip norm decay: users project onto the ball, the server clips and noises.

Args:
  local: the steps that a user takes. After each the model is projected onto the ball.
"""

from __future__ import annotations

from fedward.base.randomness import Source
from fedward.clipping import ClipNormDecay, FixedBound
from fedward.core.algorithm import Algorithm
from fedward.core.types import Sampler, ServerOptimizer
from fedward.local import SGD, ProjectedSGD
from fedward.presets.noisy_mean import expected_cohort, noisy_mean


def central_dp(
    *,
    num_users: int,
    sampler: Sampler,
    local: SGD,
    clip_bound: float,
    noise_multiplier: float,
    noise_source: Source = "seeded",
    server: ServerOptimizer | None = None,
) -> Algorithm:
    """Central DP: users stay within the ball of radius S, the server clips again and adds noise.

        w ← w + (1 / m̄) (Σ_i clip(Δ_i, S) + N(0, z² S² I))

    Guarantee: as ``user_dp_fedavg`` with flat clipping. Line 12 of the published algorithm has σ = zS/q,
    which lacks the number of users: for a mean over qN users the accountant assumes zS/(qN), as done here.

    Naseri et al. 2020, algorithm 1.
    """
    policy = FixedBound(clip_bound=clip_bound)
    projected = ProjectedSGD(sgd=local)
    return noisy_mean(
        "central_dp", num_users, sampler, projected, policy, noise_multiplier, noise_source, server
    )


def clip_norm_decay(
    *,
    num_users: int,
    sampler: Sampler,
    local: SGD,
    initial_bound: float,
    decay: float,
    noise_multiplier: float,
    look_noise: float = 3.5,
    floor: float | None = None,
    noise_source: Source = "seeded",
    server: ServerOptimizer | None = None,
) -> Algorithm:
    """DP with clip norm decay: central DP whose bound falls, by γ and to the noisy mean norm of the updates.

    Guarantee: user-level (ε, δ) by the sampler's adjacency; the looks at the mean norm are charged in the
    rounds in which they are taken. See ``ClipNormDecay`` for the rule and its floor.

    Args:
      initial_bound: c⁰: the clip bound of the first round.
      decay: γ: the clip bound is multiplied by it after every round.
      noise_multiplier: z: noise for each unit of the clip bound; more is more private. Looks at the norms are
        charged on top.
      look_noise: z_c: the noise multiplier of each look at the norms.
      floor: c_min: the clip bound never falls below it. It is public; a hundredth of ``initial_bound`` if not
        given.

    Miao et al., algorithms 1 and 2.
    """
    policy = ClipNormDecay(
        initial=initial_bound,
        decay=decay,
        look_noise=look_noise,
        expected_cohort=expected_cohort(sampler, num_users),
        floor=floor,
    )
    projected = ProjectedSGD(sgd=local)
    return noisy_mean(
        "clip_norm_decay", num_users, sampler, projected, policy, noise_multiplier, noise_source, server
    )
