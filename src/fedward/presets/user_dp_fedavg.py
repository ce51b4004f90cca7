"""UserDP-FedAvg, with the four ways to clip of Xie et al."""

from __future__ import annotations

from typing import Literal, get_args

from fedward.base.randomness import Source
from fedward.base.validate import InvalidValue, one_of
from fedward.clipping import FixedBound, FlatNorm, PerLayerNorm, RawMedian
from fedward.core.algorithm import Algorithm
from fedward.core.types import ClipPolicy, LocalTrainer, Sampler, ServerOptimizer
from fedward.presets.noisy_mean import noisy_mean

Clip = Literal["flat", "per-layer", "median", "per-layer-median"]


def user_dp_fedavg(
    *,
    num_users: int,
    sampler: Sampler,
    local: LocalTrainer,
    noise_multiplier: float,
    clip_bound: float | tuple[float, ...] | None = None,
    clip: Clip = "flat",
    policy: ClipPolicy | None = None,
    layers: tuple[int, ...] = (),
    noise_source: Source = "seeded",
    server: ServerOptimizer | None = None,
) -> Algorithm:
    """User-level DP federated averaging, with the four ways to clip of Xie et al.

        w ← w + (1 / m̄) (Σ_i clip(Δ_i, S) + N(0, z² S² I)),    m̄ the expected cohort

    Guarantee: user-level (ε, δ) by the sampler's adjacency: one user added or removed under Poisson
    sampling (multiplier z), one user replaced under fixed-size sampling (multiplier z/2). Noise is scaled by
    what a clipped update can be: S for flat clipping, sqrt(Σ S_l²) per layer (the paper's σS on L layers of
    bound S has the multiplier σ/√L only). The two medians are raw medians of private norms: no guarantee.

    Args:
      num_users: the declared number of users N. It fixes m̄ and does not move when somebody joins or leaves.
      clip_bound: S: the longest that an update may be; longer ones are cut to it. Per layer one for all
        layers or one for each; with a median the bound of empty cohorts.
      clip: ``flat``, ``per-layer``, ``median`` or ``per-layer-median``. It says what is clipped, and to which
        bound; the two medians have no guarantee.
      policy: a bound that moves, in the place of ``clip_bound``. What its looks cost is charged on top of z.
      layers: the sizes of the model's layers, ``ParameterSpec.of(model).layer_sizes()``, where ``clip`` needs
        them.

    McMahan et al. 2018; Geyer et al. 2017; Xie et al. 2022, algorithm 1 and appendix A.3.9.
    """
    one_of("clip", clip, get_args(Clip))
    if clip.startswith("per-layer") and not layers:
        raise InvalidValue(f"clip {clip!r} needs the sizes of the model's layers, got none")
    if clip.endswith("median"):
        if policy is not None or clip_bound is None or isinstance(clip_bound, tuple):
            raise InvalidValue(f"clip {clip!r} needs one clip_bound, for empty cohorts, and no policy")
        policy = RawMedian(initial=clip_bound)
    elif clip_bound is not None and policy is None:
        policy = FixedBound(clip_bound=clip_bound)
    elif policy is None or clip_bound is not None:
        raise InvalidValue(f"give either clip_bound or policy, got {clip_bound} and {policy}")
    norm = PerLayerNorm(sizes=layers) if clip.startswith("per-layer") else FlatNorm()
    return noisy_mean(
        "user_dp_fedavg", num_users, sampler, local, policy, noise_multiplier, noise_source, server, norm
    )
