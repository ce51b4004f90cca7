"""The limit that an algorithm's privacy sets to inference attacks, or the reason why it sets none."""

from __future__ import annotations

import math

from dp_accounting import DpEvent

from fedward.attacks.inference.limit import Limit
from fedward.base.validate import one_of, whole
from fedward.core.algorithm import Algorithm
from fedward.privacy.events import fold
from fedward.privacy.guarantee import UNITS, Unit
from fedward.privacy.ledger import Ledger
from fedward.privacy.spending import Spending, is_fixed_size, mechanisms

_CURVE = "by the whole trade-off curve"


def membership_limit(algorithm: Algorithm, unit: Unit, num_users: int, rounds: int) -> Limit:
    """How well any attack can tell whether a record was trained on, after so many rounds.

    | hidden by the noise           | asked about an example        | asked about a user |
    | ----------------------------- | ----------------------------- | ------------------ |
    | a user added or removed       | other data: remove, then add  | directly           |
    | a user replaced by another    | directly                      | directly           |
    | one example added or removed  | directly                      | nothing            |
    | the data of a user (local)    | directly                      | nothing            |

    Guarantee: that of ``Limit``, if membership is drawn by ``Halves`` with ``exact`` where users are
    replaced. A guarantee about one example says something about a whole user only through groups of as many
    examples as the user has, which soon is nothing; and users that add their own noise are seen to take part.

    Args:
      algorithm: as it was trained.
      unit: what is asked about.
      num_users: how many users were trained on.
      rounds: how many rounds.
    """
    one_of("unit", unit, UNITS)
    whole("rounds", rounds)
    if algorithm.unproven:
        return Limit.none(f"no guarantee: {algorithm.unproven}")
    if algorithm.accounting == "server":
        ledger = algorithm.planned_ledger(num_users, rounds)
        return _limit_of_users(ledger, ledger.spending, other_data=unit == "example", rounds=rounds)
    protector = algorithm.protector
    if unit == "user":
        hidden = "one example of a user" if protector.unit == "example" else "what a user's data are"
        return Limit.none(f"no limit: the noise hides {hidden}, not whether the user takes part")
    if algorithm.public_sizes:
        return Limit.none("no limit: data sizes are public, and an example more or less shows there")
    # Users differ in how often they were drawn; this holds for all of them.
    ledger = algorithm.spent(num_users, rounds)
    about = _words(ledger, rounds)
    return Limit.of_curve(ledger.spending, f"{about}, {_CURVE}")


def property_limit(algorithm: Algorithm, num_users: int, rounds: int) -> Limit:
    """How well any attack can tell from one round on what kind of data one user has trained in it.

    A user's data in one round is exchanged for other data; all later models are made from that round's model
    and from data that stays the same. So one round's noise is all that counts, of the round with the least.

    Guarantee: that of ``Limit``, for data of each round chosen by a fair coin of its own.
    """
    whole("rounds", rounds)
    if algorithm.unproven:
        return Limit.none(f"no guarantee: {algorithm.unproven}")
    if algorithm.accounting == "server":
        event = _loudest([algorithm.round_event(num_users, t) for t in range(rounds)])
        ledger = algorithm.planned_ledger(num_users, rounds)
        return _limit_of_users(ledger, [(event, 1)], other_data=True, rounds=1)
    protector = algorithm.protector
    if protector.unit == "example":
        return Limit.none("no limit: the noise hides one example of a user, and a property is one of many")
    event = _loudest([algorithm.user_event(t) for t in range(rounds)])
    about = _words(algorithm.spent(num_users, rounds), 1)
    return Limit.of_curve([(event, 1)], f"{about}, {_CURVE}")


def _limit_of_users(ledger: Ledger, spending: Spending, *, other_data: bool, rounds: int) -> Limit:
    about = _words(ledger, rounds)
    if is_fixed_size(mechanisms(spending)):
        return Limit.of_accountant(spending, ledger.adjacency, f"{about}, rdp accountant")
    twice = other_data and ledger.adjacency in ("add/remove", "zero-out")
    how = f"{_CURVE}, other data by removing and adding" if twice else _CURVE
    return Limit.of_curve(spending, f"{about}, {how}", twice=twice)


def _words(ledger: Ledger, rounds: int) -> str:
    about = f"{ledger.unit} level, {ledger.adjacency}, {ledger.sampling}"
    return f"{about}, {rounds} round{'' if rounds == 1 else 's'}"


def _loudest(events: list[DpEvent]) -> DpEvent:
    """The event that shows most: rounds of one training differ in nothing but their noise."""

    def noise(event: DpEvent) -> float:
        parts = mechanisms([(event, 1)])
        return fold(*(_multiplier(part) / count**0.5 for part, count in parts)) if parts else math.inf

    return min(events, key=noise)


def _multiplier(event: DpEvent) -> float:
    return float(getattr(event, "event", event).noise_multiplier)
