"""What attackers may do, and which trainings can be certified against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from dp_accounting import PoissonSampledDpEvent

from fedward.core.algorithm import LOOKS_ONLY, Algorithm
from fedward.core.validate import InvalidValue, one_of
from fedward.privacy.events import DEVIATING, STAGED
from fedward.privacy.group import THREATS, Threat
from fedward.privacy.ledger import Ledger
from fedward.privacy.spending import Mechanisms, fixed_size, mechanisms, non_private

Attendance = Literal["drawn", "chosen", "every-round"]
Behaviour = Literal["data", "anything"]

ATTENDANCES: tuple[str, ...] = get_args(Attendance)
BEHAVIOURS: tuple[str, ...] = get_args(Behaviour)


@dataclass(frozen=True, kw_only=True)
class ThreatModel:
    """What is assumed about the attackers. The certificate says nothing about any others.

    Args:
      threat: *inject*: k attackers are added to a clean federation; *present*: k of the users trained on
        may be attackers, and the prediction would be the same without them; *compromise*: k users' data and
        behaviour are replaced.
      attendance: *drawn*: the server draws attackers as it draws everybody, with probability q. *chosen*:
        they appear when they like; refused unless everybody takes part in every round. *every-round*:
        they are in each round, q = 1 for them; this covers attackers that choose their rounds.
      behaviour: *anything*: they send whatever they like. *data*: they only poison their data, and run the
        local training, with its noise, as they were told.

    >>> ThreatModel(threat="injekt")
    Traceback (most recent call last):
    ...
    fedward.core.validate.InvalidValue: threat must be one of inject, present, compromise, got 'injekt'; \
did you mean 'inject'?
    """

    threat: Threat = "inject"
    attendance: Attendance = "drawn"
    behaviour: Behaviour = "anything"

    def __post_init__(self) -> None:
        one_of("threat", self.threat, THREATS)
        one_of("attendance", self.attendance, ATTENDANCES)
        one_of("behaviour", self.behaviour, BEHAVIOURS)


def certifiable(ledger: Ledger, model: ThreatModel) -> Mechanisms:
    """The spending that a certificate against these attackers may be computed from.

    Refuses, with the reason, whatever the bounds do not cover: a training without a guarantee (no noise,
    no clipping, raw-median clipping, an aggregator without a sensitivity), cohorts with an exact number of
    attackers, fixed-size sampling, an adjacency other than add/remove, attackers that choose their rounds
    while q is below 1, and certificates about examples when a user may skip its local noise.

    >>> from dp_accounting import GaussianDpEvent
    >>> event = PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
    >>> ledger = Ledger(
    ...     unit="user", adjacency="add/remove", sampling="Poisson q = 0.1", noise_source="seeded"
    ... )
    >>> certifiable(ledger.charged(event, 3), ThreatModel(attendance="every-round"))
    ((GaussianDpEvent(noise_multiplier=3.0), 3),)
    """
    parts = mechanisms(ledger.spending)
    if ledger.reason:
        raise InvalidValue(f"a certificate needs a training with a guarantee, got none: {ledger.reason}")
    if non_private(parts):
        raise InvalidValue("a certificate needs a training with a guarantee, got a release without noise")
    if not parts:
        raise InvalidValue("a certificate needs a ledger with at least one round, got none")
    if LOOKS_ONLY in ledger.sampling:
        raise InvalidValue(
            "a certificate needs what a training spent on its models, got what the server's looks at norms "
            "cost: users protect themselves there, each by its own ledger"
        )
    if STAGED in ledger.sampling:
        raise InvalidValue(
            f"a certificate needs attackers who are sampled like everybody else, got {ledger.sampling}"
        )
    if DEVIATING in ledger.sampling:
        raise InvalidValue(
            "a certificate about poisoned examples needs users that follow the protocol, got "
            f"{ledger.sampling}"
        )
    if fixed_size(parts):
        raise InvalidValue(
            "a certificate needs Poisson sampling, got fixed-size sampling: no dominating pair is known for "
            "groups drawn without replacement, and an attacker who joins would push others out"
        )
    if ledger.adjacency != "add/remove":
        raise InvalidValue(
            f"a certificate needs a ledger for users added or removed, got {ledger.adjacency!r} adjacency"
        )
    if ledger.unit == "example" and model.behaviour != "data":
        raise InvalidValue(
            "a certificate about poisoned examples needs attackers that only poison their data, got "
            f"{model.behaviour!r}: a user that skips its local noise voids it"
        )
    if model.attendance == "drawn":
        return parts
    sampled = [event.sampling_probability for event, _ in parts if isinstance(event, PoissonSampledDpEvent)]
    if model.attendance == "chosen" and any(rate < 1 for rate in sampled):
        raise InvalidValue(
            f"attackers that choose their rounds must be certified with q = 1, got q = {min(sampled):g}; use "
            "the attendance 'every-round' to certify them with q = 1"
        )
    return mechanisms(
        [(event.event if isinstance(event, PoissonSampledDpEvent) else event, n) for event, n in parts]
    )


def certifiable_algorithm(algorithm: Algorithm) -> None:
    """Refuses an algorithm whose trainings cannot be certified, before any is run; names the part."""
    if algorithm.aggregator.sensitivity(1.0, "add/remove") is None:
        raise InvalidValue(
            f"a certificate needs an aggregator with a sensitivity, got {algorithm.aggregator}"
        )
    if algorithm.accounting == "users":
        raise InvalidValue(
            f"a certificate needs a training with one ledger for all, got {algorithm.name}: users protect "
            "themselves there, and nobody clips what an attacker sends"
        )
    if algorithm.unproven:
        raise InvalidValue(f"a certificate needs a training with a guarantee, got none: {algorithm.unproven}")
    if STAGED in str(algorithm.sampler):
        raise InvalidValue(
            f"a certificate needs attackers who are sampled like everybody else, got {algorithm.sampler}"
        )
    if algorithm.deviating:
        raise InvalidValue(f"a certificate needs users that follow the protocol, got one where {DEVIATING}")
    if algorithm.sampler.adjacency != "add/remove":
        raise InvalidValue(
            f"a certificate needs a sampler for users added or removed, got {algorithm.sampler}"
        )
