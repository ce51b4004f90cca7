"""Algorithms in which every user protects itself: nobody else has to be trusted with its data.

Args:
  local: what a user does with the model; the noise that protects is in it.
  policy: C_t: a bound that moves, where ``local`` has no ``clip_bound``. One that looks at norms is refused:
    it would see those of noisy updates, and examples are clipped.
"""

from __future__ import annotations

from dataclasses import replace

from fedward.aggregation import Mean, WeightedMean
from fedward.base.randomness import Source
from fedward.base.validate import InvalidValue
from fedward.clipping import FixedBound, FlatNorm
from fedward.core.algorithm import Accounting, Algorithm
from fedward.core.types import Aggregator, ClipPolicy, LocalTrainer, Sampler, ServerOptimizer
from fedward.local.dp_sgd import DPSGD
from fedward.local.noisy_gradient import NoisyGradient
from fedward.mechanisms import NoNoise
from fedward.presets.noisy_mean import expected_cohort
from fedward.privacy.aggregate import aggregate_event
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.ledger import Ledger
from fedward.server import ServerStep


def insdp_fedavg(
    *,
    num_users: int,
    sampler: Sampler,
    local: DPSGD,
    policy: ClipPolicy | None = None,
    server: ServerOptimizer | None = None,
) -> Algorithm:
    """InsDP-FedAvg: V steps of DP-SGD at each user of the cohort, and the mean of their updates.

        w ← w + (1 / m̄) Σ_i Δ_i,    Δ_i by DP-SGD with batches p, clip bound S, noise σS on the sum

    Guarantee: instance-level (ε, δ) for one example of one user; each user has a ledger of its own, and the
    released models have the largest of them. A user that is never drawn spends nothing.

    Xie et al. 2022, algorithm 3 and theorem 4.
    """
    mean = Mean(expected_cohort=expected_cohort(sampler, num_users))
    return _self_protected("insdp_fedavg", sampler, local, policy, mean, server)


def insdp_fedsgd(
    *, num_users: int, sampler: Sampler, local: DPSGD, server: ServerOptimizer | None = None
) -> Algorithm:
    """InsDP-FedSGD: one step of DP-SGD at each of m users; their noise adds up in the mean.

        w ← w + (1 / m) Σ_i Δ_i,    noise of the sum: σ S √m

    Guarantee: instance-level (ε, δ) for one example, as long as all m users add their noise and nothing but
    their mean is seen. Two bounds are stated: the conservative one, batches with probability p and noise
    multiplier σ√m (Dopamine's), is what the ledger holds; the paper's claim, with probability p q, is printed
    beside it under its name.

    Args:
      sampler: cohorts of a known size, whose noise adds up.
      local: DP-SGD with one step and a clip bound.

    Xie et al. 2022, algorithm 2 and proposition 2.
    """
    mean = Mean(expected_cohort=expected_cohort(sampler, num_users))
    return _self_protected("insdp_fedsgd", sampler, local, None, mean, server, accounting="aggregate")


def dopamine(
    *, num_users: int, sampler: Sampler, local: DPSGD, server: ServerOptimizer | None = None
) -> Algorithm:
    """Dopamine: one step of DP-SGD at each of m users, accounted for without the drawing of users.

        w ← w + (1 / m) Σ_i Δ_i,    noise of the sum: σ S √m

    Guarantee: instance-level (ε, δ): batches with probability p and noise multiplier σ√m, if all m users add
    their noise and nothing but their mean is seen.

    Args:
      sampler: cohorts of a known size, whose noise adds up.
      local: DP-SGD with one step and a clip bound.

    Malekzadeh et al. 2021; the baseline in Xie et al.
    """
    mean = Mean(expected_cohort=expected_cohort(sampler, num_users))
    return _self_protected("dopamine", sampler, local, None, mean, server, accounting="aggregate")


def local_dp(
    *,
    sampler: Sampler,
    local: DPSGD,
    policy: ClipPolicy | None = None,
    server: ServerOptimizer | None = None,
) -> Algorithm:
    """Local DP: DP-SGD at each user, and the mean weighted by how many examples each declares.

        w ← w + Σ_i (n_i / Σ_j n_j) Δ_i

    Guarantee: each user's own, for one of its examples, whatever the server does. The weights show data
    sizes, which are taken to be public; so it is for an example that counts or counts as zero (*zero-out*):
    one more or less would change a size. (Line 13 of the published algorithm adds the noise after the
    division; it is σ C on the sum here.)

    Naseri et al. 2020, algorithm 2.
    """
    algorithm = _self_protected("local_dp", sampler, local, policy, WeightedMean(), server)
    return replace(algorithm, public_sizes=True)


def ldp_fedsgd(
    *,
    num_users: int,
    sampler: Sampler,
    noise_multiplier: float,
    clip_bound: float | None = None,
    policy: ClipPolicy | None = None,
    learning_rate: float = 1.0,
    noise_source: Source = "seeded",
    server: ServerOptimizer | None = None,
) -> Algorithm:
    """LDP-FedSGD: each user sends one clipped gradient with noise of its own.

        w ← w - η (1 / m̄) Σ_i (clip(∇L_i(w), C_t) + N(0, (z C_t)² I))

    Guarantee: local: all data of one user replaced, by whom it is sent is public; sensitivity 2C, so the
    noise multiplier is z/2, in each round that the user takes part in. No central trust, unless a policy
    looks at norms.

    Args:
      noise_multiplier: z: noise for each unit of the clip bound; more is more private. It is the paper's σ;
        the guarantee counts z/2.
      clip_bound: C: the longest that a gradient may be; longer ones are cut to it. Or give ``policy``.
      policy: C_t: a bound that moves, in the place of ``clip_bound``. What its looks at norms cost is in the
        guarantee; the server must be trusted with the norms.
      learning_rate: η: the length of a step.

    The study of clip sizes under LDP (docs/references.md), algorithms 1 and 3.
    """
    local = NoisyGradient(
        noise_multiplier=noise_multiplier,
        clip_bound=clip_bound,
        learning_rate=learning_rate,
        noise_source=noise_source,
    )
    mean = Mean(expected_cohort=expected_cohort(sampler, num_users))
    return _self_protected("ldp_fedsgd", sampler, local, policy, mean, server)


def papers_claim(algorithm: Algorithm, num_users: int, rounds: int, delta: float) -> Guarantee | None:
    """What Xie et al. claim for InsDP-FedSGD, by their accountant: an example is drawn with probability p q.

    The users of a cohort are drawn together, not example by example, and noise that the users of one cohort
    add is not the noise of another: fedward states it as the paper's and relies on the conservative bound.

    Xie et al. 2022, proposition 2: 1.4029 at p = 0.4, q = 20/30, σ = 3, m = 20, T = 200.
    """
    ledger = papers_ledger(algorithm, num_users, rounds)
    return None if ledger is None else ledger.guarantee(delta, "moments")


def papers_ledger(algorithm: Algorithm, num_users: int, rounds: int) -> Ledger | None:
    """What ``papers_claim`` takes a training to have spent; None where it claims nothing."""
    if algorithm.name != "insdp_fedsgd" or algorithm.unproven:
        return None
    cohort = algorithm.sampler.expected_size(num_users)
    q = min(1.0, cohort / num_users)
    event = aggregate_event(algorithm.protector.local_event(0), cohort, q)
    ledger = algorithm.new_ledger()
    ledger = replace(ledger, terms=replace(ledger.terms, claimed_rate=q))
    return ledger.charged(event, rounds) if rounds else None


def _self_protected(
    name: str,
    sampler: Sampler,
    local: DPSGD | NoisyGradient,
    policy: ClipPolicy | None,
    aggregator: Aggregator,
    server: ServerOptimizer | None,
    accounting: Accounting = "users",
) -> Algorithm:
    if policy is None and local.clip_bound is not None:
        policy = FixedBound(clip_bound=local.clip_bound)
    elif policy is None or local.clip_bound is not None:
        raise InvalidValue(
            "give either a clip bound or a clip policy, "
            f"got clip_bound={local.clip_bound} and policy={policy}"
        )
    elif policy.looks(0) and isinstance(local, DPSGD):
        raise InvalidValue(
            f"DP-SGD clips examples, and a look at the norms of updates says nothing about them, got {policy}"
        )
    trainer: LocalTrainer = local
    return Algorithm(
        name=name,
        sampler=sampler,
        local=trainer,
        norm=FlatNorm(),
        policy=policy,
        aggregator=aggregator,
        mechanism=NoNoise(),
        server=server or ServerStep(),
        accounting=accounting,
        server_clips=False,  # rows carry noise that is larger than any clip bound
    )
