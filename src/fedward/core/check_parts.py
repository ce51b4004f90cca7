"""Checks that the parts of an algorithm are what they are taken for and go together."""

from __future__ import annotations

import math

from fedward.base.validate import InvalidType, InvalidValue, whole
from fedward.core.types import (
    Aggregator,
    ClipPolicy,
    LocalTrainer,
    Mechanism,
    Norm,
    PrivateTrainer,
    Sampler,
    ScheduledSampler,
    SchemaMechanism,
    total_bound,
)
from fedward.privacy.aggregate import aggregate_event


def check_aggregator(aggregator: Aggregator) -> None:
    """A rule that needs all rows at once is no aggregator by itself."""
    if not callable(getattr(aggregator, "add", None)):
        raise InvalidType(
            f"aggregator must take rows one after the other, got {aggregator}; a rule that needs all rows "
            "goes into AllRows(rule=...)"
        )


def check_mechanism(mechanism: Mechanism) -> None:
    """A mechanism must have the methods of one, and cover at least one round."""
    if not callable(getattr(mechanism, "privatise", None)):
        raise InvalidType(
            f"mechanism must make an aggregate private, got {mechanism}; "
            "fedward.core.types.Mechanism says how"
        )
    if mechanism.whole_training is not None:
        whole("rounds of a mechanism that is charged for a whole training", mechanism.whole_training)


def check_policy(policy: ClipPolicy, norm: Norm) -> None:
    """A clip policy must own up to what it sees, and have a bound for each group of the norm."""
    if policy.reads_norms and not policy.unproven:
        raise InvalidValue(
            "a clip policy that reads the norms of the same round must say why no ε covers it "
            f"(unproven), got {policy}"
        )
    if norm.groups > 1 and not policy.per_group:
        raise InvalidValue(f"per-layer clipping needs a policy for several bounds, got {policy}")


def check_noise(aggregator: Aggregator, policy: ClipPolicy) -> None:
    """Noise is scaled by how far one clipped row moves the aggregate: both must be bounded."""
    if aggregator.sensitivity(1.0, "add/remove") is None:
        raise InvalidValue(f"noise needs an aggregator with a sensitivity, got {aggregator}")
    # A policy that reads the round's norms has a bound once it has seen some.
    first = () if policy.reads_norms else policy.bound(policy.init(), 0, None)
    if not math.isfinite(total_bound(first)):
        raise InvalidValue("noise needs clipped updates, got a policy without a bound")


def check_exact_noise(aggregator: Aggregator) -> None:
    """Noise on a grid needs sums on it: of rows, over a constant."""
    divisor = aggregator.divisor
    if divisor is None or aggregator.sensitivity(1.0, "add/remove") != 1.0 / divisor:
        raise InvalidValue(
            "exact noise needs an aggregator that divides a sum of rows by a constant (its divisor), got "
            f"{aggregator}"
        )


def check_participation(sampler: Sampler, mechanism: Mechanism) -> None:
    """Noise that holds for a schema of participation needs a sampler that keeps everybody to it."""
    if not isinstance(mechanism, SchemaMechanism):
        return
    schema = mechanism.participation
    if not isinstance(sampler, ScheduledSampler) or not schema.allows(sampler.participation):
        raise InvalidValue(
            f"noise that is correlated over rounds needs a sampler that keeps to its schema, {schema}, got "
            f"{sampler}"
        )


def check_protectors(local: LocalTrainer, policy: ClipPolicy, mechanism: Mechanism) -> None:
    """Users that protect themselves must be able to, and nobody else's noise is counted."""
    if not isinstance(local, PrivateTrainer):
        raise InvalidValue(f"users that protect themselves need a private trainer, got {local}")
    if mechanism.multiplier > 0:
        raise InvalidValue(
            "the server's noise and the users' are accounted for apart: got both, use one of them"
        )
    if policy.unproven:
        raise InvalidValue(
            f"users that protect themselves need a clip policy with a proof, got {policy}: {policy.unproven}"
        )


def check_cohort_noise(local: PrivateTrainer, sampler: Sampler) -> None:
    """Noise that a whole cohort adds up to must be Gaussian, and of a known number of users."""
    aggregate_event(local.local_event(0), 1.0)
    if not sampler.exact:
        raise InvalidValue(
            "the noise of a whole cohort needs cohorts of a known size (fixed-size or everyone), "
            f"got {sampler}"
        )
