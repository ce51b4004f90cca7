"""FedAvg with a robust rule in the place of the mean: defences against bad rows, without privacy.

Args:
  clip_bound: every update is cut to it first; none is cut if not given.
"""

from __future__ import annotations

from fedward.aggregation import (
    AllRows,
    Bulyan,
    CoordinateMedian,
    GeometricMedian,
    Krum,
    MultiKrum,
    Rule,
    TrimmedMean,
)
from fedward.clipping import FixedBound, FlatNorm, NoClipping
from fedward.core.algorithm import Algorithm
from fedward.core.types import LocalTrainer, Sampler, ServerOptimizer
from fedward.mechanisms import NoNoise
from fedward.server import ServerStep

Bound = float | None
Server = ServerOptimizer | None


def robust(
    *, sampler: Sampler, local: LocalTrainer, rule: Rule, clip_bound: Bound = None, server: Server = None
) -> Algorithm:
    """Any robust rule in the place of the mean.

        w ← w + rule(Δ_1, ..., Δ_n)

    No guarantee of privacy. Rounds with fewer updates than the rule needs keep the model. The presets that
    are named after a rule are this one with that rule.

    Args:
      rule: how the updates of a round are combined.
    """
    return _robust("robust", rule, sampler, local, clip_bound, server)


def krum(
    *, sampler: Sampler, local: LocalTrainer, malicious: int, clip_bound: Bound = None, server: Server = None
) -> Algorithm:
    """Krum: the model takes the one update that is nearest to its neighbours.

        w ← w + Δ_i,    i = argmin_i Σ_{j among the n - f - 2 nearest of i} ‖Δ_i - Δ_j‖²

    No guarantee of privacy. Rounds with fewer than 2f + 3 updates keep the model.

    Blanchard, El Mhamdi, Guerraoui, Stainer 2017; Miao et al., with f = 8 of 20.
    """
    return _robust("krum", Krum(malicious=malicious), sampler, local, clip_bound, server)


def multi_krum(
    *,
    sampler: Sampler,
    local: LocalTrainer,
    malicious: int,
    selected: int | None = None,
    clip_bound: Bound = None,
    server: Server = None,
) -> Algorithm:
    """Multi-Krum: the mean of the m updates with the best scores of Krum.

        w ← w + (1 / m) Σ_{i among the m best} Δ_i

    No guarantee of privacy. Rounds with fewer than max(2f + 3, m) updates keep the model.

    Args:
      selected: m: how many updates are averaged. n - f of the n updates of each round if not given.

    Blanchard, El Mhamdi, Guerraoui, Stainer 2017.
    """
    rule = MultiKrum(malicious=malicious, selected=selected)
    return _robust("multi_krum", rule, sampler, local, clip_bound, server)


def median(
    *, sampler: Sampler, local: LocalTrainer, clip_bound: Bound = None, server: Server = None
) -> Algorithm:
    """The median of every coordinate of the updates.

        w[j] ← w[j] + median_i Δ_i[j]

    No guarantee of privacy. An empty round keeps the model.

    Yin, Chen, Ramchandran, Bartlett 2018; Miao et al.
    """
    return _robust("median", CoordinateMedian(), sampler, local, clip_bound, server)


def trimmed_mean(
    *, sampler: Sampler, local: LocalTrainer, trimmed: int, clip_bound: Bound = None, server: Server = None
) -> Algorithm:
    """The mean of every coordinate without its b smallest and its b largest values.

        w[j] ← w[j] + (1 / (n - 2b)) Σ_{b < k ≤ n - b} Δ_(k)[j],    Δ_(k)[j] the k-th smallest

    No guarantee of privacy. Rounds with fewer than 2b + 1 updates keep the model.

    Args:
      trimmed: b: how many of the largest and of the smallest values are left out. It is a number of updates,
        not a share of them.

    Yin, Chen, Ramchandran, Bartlett 2018.
    """
    return _robust("trimmed_mean", TrimmedMean(trimmed=trimmed), sampler, local, clip_bound, server)


def geometric_median(
    *,
    sampler: Sampler,
    local: LocalTrainer,
    tolerance: float = 1e-6,
    most_steps: int = 500,
    clip_bound: Bound = None,
    server: Server = None,
) -> Algorithm:
    """The point with the smallest sum of distances to the updates.

        w ← w + argmin_y Σ_i ‖Δ_i - y‖

    No guarantee of privacy. An empty round keeps the model. Unlike in the paper every update counts the same,
    however many examples its user has.

    Args:
      tolerance: how long the mean of the unit vectors towards the updates may be when the iteration stops.
      most_steps: after so many steps it stops anyway.

    Pillutla, Kakade, Harchaoui 2019 (RFA).
    """
    rule = GeometricMedian(tolerance=tolerance, most_steps=most_steps)
    return _robust("geometric_median", rule, sampler, local, clip_bound, server)


def bulyan(
    *, sampler: Sampler, local: LocalTrainer, malicious: int, clip_bound: Bound = None, server: Server = None
) -> Algorithm:
    """Bulyan: the mean around the median of every coordinate, over updates picked by Krum.

        w[j] ← w[j] + (1 / β) Σ_{i among the β nearest to the median} Δ_i[j],    θ = n - 2f picked, β = θ - 2f

    No guarantee of privacy. Rounds with fewer than 4f + 3 updates keep the model.

    El Mhamdi, Guerraoui, Rouault 2018.
    """
    return _robust("bulyan", Bulyan(malicious=malicious), sampler, local, clip_bound, server)


def _robust(
    name: str, rule: Rule, sampler: Sampler, local: LocalTrainer, clip_bound: Bound, server: Server
) -> Algorithm:
    return Algorithm(
        name=name,
        sampler=sampler,
        local=local,
        norm=FlatNorm(),
        policy=NoClipping() if clip_bound is None else FixedBound(clip_bound=clip_bound),
        aggregator=AllRows(rule=rule),
        mechanism=NoNoise(),
        server=server or ServerStep(),
    )
