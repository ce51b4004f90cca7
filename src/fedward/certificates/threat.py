"""The threat model: what attackers may do, and which trainings can be certified against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from fedward.base.validate import InvalidValue, one_of
from fedward.privacy.accounting_events import PoissonSampledDpEvent
from fedward.privacy.group import THREATS, Threat
from fedward.privacy.ledger import Ledger
from fedward.privacy.spending import (
    Mechanisms,
    is_allocated,
    is_fixed_size,
    is_sampled,
    mechanisms,
    non_private,
    without_sampling,
)

if TYPE_CHECKING:
    from fedward.core.algorithm import Algorithm

Attendance = Literal["drawn", "chosen", "every-round"]
Behaviour = Literal["data", "anything"]

ATTENDANCES: tuple[str, ...] = get_args(Attendance)
BEHAVIOURS: tuple[str, ...] = get_args(Behaviour)


_GROUPS_SHARE_NOISE = (
    "attackers that are drawn of groups which share noise must be certified with q = 1, got attendance "
    "'drawn': no bound is proven for several users whose coins show in overlapping rounds; use the "
    "attendance 'every-round'"
)


_ALLOTTED = (
    "attackers that are allotted random rounds must be certified with a round of their choice in every "
    "epoch, got attendance {attendance!r}: what several users together show of their rounds is "
    "bounded by no law that is computed here; use the attendance 'every-round'"
)


@dataclass(frozen=True, kw_only=True)
class ThreatModel:
    """What is assumed about the attackers. The certificate says nothing about any others.

    Args:
      threat: *inject*: k attackers are added to a clean federation; *present*: k of the users trained on
        may be attackers, and the prediction would be the same without them; *compromise*: k users' data and
        behaviour are replaced.
      attendance: *drawn*: the server draws attackers as it draws everybody, with probability q. *chosen*:
        they appear when they like; refused unless everybody takes part in every round. *every-round*:
        they are in each round, q = 1 for them; this covers attackers that choose their rounds. Where users
        are allotted one round of each epoch: they choose which.
      behaviour: *anything*: they send whatever they like. *data*: they only poison their data, and run the
        local training, with its noise, as they were told.

    >>> ThreatModel(threat="injekt")
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: threat must be one of inject, present, compromise, got 'injekt'; \
did you mean 'inject'?
    """

    threat: Threat = "inject"
    attendance: Attendance = "drawn"
    behaviour: Behaviour = "anything"

    def __post_init__(self) -> None:
        one_of("threat", self.threat, THREATS)
        one_of("attendance", self.attendance, ATTENDANCES)
        one_of("behaviour", self.behaviour, BEHAVIOURS)


def certifiable(ledger: Ledger, model: ThreatModel, users: int | None = None) -> Mechanisms:
    """The spending that a certificate against these attackers may be computed from.

    Refuses, with the reason, whatever the bounds do not cover: a training without a guarantee (no noise,
    no clipping, raw-median clipping, an aggregator without a sensitivity), cohorts with an exact number of
    attackers, fixed-size sampling, an adjacency other than add/remove and zero-out, *inject* under zero-out
    (the curves of a group are the same, but an attacker more would change what sums are divided by),
    attackers that choose their rounds while q is below 1, and certificates about examples when a user may
    skip its local noise.

    Args:
      ledger: what one training spent.
      model: what is assumed about the attackers.
      users: how many users there are, if known: it stands in what a refusal recommends.

    >>> from dp_accounting import GaussianDpEvent
    >>> event = PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
    >>> ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
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
    if ledger.terms.noise_of == "looks":
        raise InvalidValue(
            "a certificate needs what a training spent on its models, got what the server's looks at norms "
            "cost: users protect themselves there, each by its own ledger"
        )
    if ledger.terms.staged is not None:
        raise InvalidValue(
            f"a certificate needs attackers who are sampled like everybody else, got {ledger.sampling}"
        )
    if ledger.terms.deviating:
        raise InvalidValue(
            "a certificate about poisoned examples needs users that follow the protocol, got "
            f"{ledger.sampling}"
        )
    if is_fixed_size(parts):
        raise InvalidValue(
            "a certificate needs Poisson sampling, got fixed-size sampling: no dominating pair is known for "
            "groups drawn without replacement, and an attacker who joins would push others out"
        )
    if ledger.adjacency not in ("add/remove", "zero-out"):
        raise InvalidValue(
            f"a certificate needs a ledger for users added or removed, got {ledger.adjacency!r} adjacency"
        )
    if ledger.adjacency == "zero-out" and model.threat == "inject":
        raise InvalidValue(_why_not_inject(ledger, users))
    if ledger.unit == "example" and model.behaviour != "data":
        raise InvalidValue(
            "a certificate about poisoned examples needs attackers that only poison their data, got "
            f"{model.behaviour!r}: a user that skips its local noise voids it"
        )
    if is_allocated(parts) and model.attendance != "every-round":
        raise InvalidValue(_ALLOTTED.format(attendance=model.attendance))
    if model.attendance == "drawn":
        if ledger.terms.participation is not None and is_sampled(parts):
            raise InvalidValue(_GROUPS_SHARE_NOISE)
        return parts
    sampled = [event.sampling_probability for event, _ in parts if isinstance(event, PoissonSampledDpEvent)]
    if model.attendance == "chosen" and any(rate < 1 for rate in sampled):
        raise InvalidValue(
            f"attackers that choose their rounds must be certified with q = 1, got q = {min(sampled):g}; use "
            "the attendance 'every-round' to certify them with q = 1"
        )
    return mechanisms([(without_sampling(event), n) for event, n in parts])


def _why_not_inject(ledger: Ledger, users: int | None) -> str:
    if ledger.unit == "example":
        return (
            "threat must be present or compromise where data sizes are public and weigh the mean: an example "
            "more changes them; got inject"
        )
    divisor = ledger.terms.divisor
    now = "" if divisor is None else f", now {divisor:g},"
    return (
        "threat must be present or compromise where the number of users is not declared: every user that is "
        f"added changes what sums are divided by{now} and with it the noise; got inject. To certify it, "
        f"add the line 'users = {'N' if users is None else users}' to the table [privacy]"
    )


def why_no_guarantee(algorithm: Algorithm) -> str:
    """Why trainings of an algorithm have no guarantee that a certificate could rest on; empty if they do."""
    if algorithm.aggregator.sensitivity(1.0, "add/remove") is None:
        return f"a certificate needs an aggregator with a sensitivity, got {algorithm.aggregator}"
    if algorithm.accounting != "users" and algorithm.unproven:
        return f"a certificate needs a training with a guarantee, got none: {algorithm.unproven}"
    return ""


def certifiable_algorithm(algorithm: Algorithm) -> None:
    """Refuses an algorithm whose trainings cannot be certified, before any is run; names the part."""
    if reason := why_no_guarantee(algorithm):
        raise InvalidValue(reason)
    if algorithm.accounting == "users":
        raise InvalidValue(
            f"a certificate needs a training with one ledger for all, got {algorithm.name}: users protect "
            "themselves there, and nobody clips what an attacker sends"
        )
    if algorithm.sampler.staged is not None:
        raise InvalidValue(
            f"a certificate needs attackers who are sampled like everybody else, got {algorithm.sampler}"
        )
    if algorithm.deviating:
        raise InvalidValue(
            "a certificate needs users that follow the protocol, got one where attackers need not follow the "
            "local protocol"
        )
    if algorithm.sampler.adjacency != "add/remove":
        raise InvalidValue(
            f"a certificate needs a sampler for users added or removed, got {algorithm.sampler}"
        )
