"""User-level DP-FedAvg that clips to a quantile of the update norms."""

from __future__ import annotations

from fedward.base.randomness import Source
from fedward.clipping import Quantile
from fedward.core.algorithm import Algorithm
from fedward.core.types import LocalTrainer, Sampler, ServerOptimizer
from fedward.presets.noisy_mean import expected_cohort, noisy_mean


def adaptive_clipping(
    *,
    num_users: int,
    sampler: Sampler,
    local: LocalTrainer,
    noise_multiplier: float,
    quantile: float = 0.5,
    initial_bound: float = 0.1,
    bit_noise: float | None = None,
    bound_learning_rate: float = 0.2,
    noise_source: Source = "seeded",
    server: ServerOptimizer | None = None,
) -> Algorithm:
    """Adaptive clipping: the bound follows a quantile of the norms, and model and bits share the noise.

        z_Δ = (z⁻² - (2σ_b)⁻²)^(-1/2) for the model, σ_b for the bits: together z

    Guarantee: user-level (ε, δ) of a Gaussian mechanism with multiplier z in every round, by the sampler's
    adjacency, bits included. See ``Quantile`` for the rule.

    Args:
      noise_multiplier: z: noise for each unit of the clip bound; more is more private. It is that of model
        and bits together.
      quantile: γ: the share of updates that the clip bound is to let through.
      initial_bound: C_0: the clip bound of the first round.
      bit_noise: σ_b: noise on the sum of bits. A twentieth of the expected cohort if not given, but never
        less than 2z.
      bound_learning_rate: η_C: the length of the bound's step, in logarithms.

    Andrew, Thakkar, McMahan, Ramaswamy 2021.
    """
    cohort = expected_cohort(sampler, num_users)
    policy = Quantile(
        initial=initial_bound,
        quantile=quantile,
        bit_noise=max(cohort / 20, 2 * noise_multiplier) if bit_noise is None else bit_noise,
        expected_cohort=cohort,
        learning_rate=bound_learning_rate,
    )
    model_noise = policy.model_noise(noise_multiplier)
    return noisy_mean(
        "adaptive_clipping", num_users, sampler, local, policy, model_noise, noise_source, server
    )
