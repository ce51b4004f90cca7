"""Which limit on inference an algorithm promises, for whom, and why it may promise none."""

from __future__ import annotations

import math

from dp_accounting import DpEvent

from fedward.attacks.inference.limit import Limit
from fedward.core.algorithm import Algorithm
from fedward.core.validate import one_of, whole
from fedward.privacy.events import Adjacency, fold
from fedward.privacy.guarantee import UNITS, Unit
from fedward.privacy.spending import Spending, fixed_size, mechanisms

_CURVE = "by the whole trade-off curve"


def membership_limit(algorithm: Algorithm, unit: Unit, num_users: int, rounds: int) -> Limit:
    """How well any attack can tell whether a record was trained on, after so many rounds.

    | hidden by the noise           | asked about an example        | asked about a user |
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
    spending: Spending
    if algorithm.accounting == "server":
        spending = algorithm.planned_ledger(num_users, rounds).spending
        return _of_users(algorithm, spending, other_data=unit == "example", rounds=rounds)
    protector = algorithm.protector
    if unit == "user":
        hidden = "one example of a user" if protector.unit == "example" else "what a user's data are"
        return Limit.none(f"no limit: the noise hides {hidden}, not whether the user takes part")
    if algorithm.public:
        return Limit.none(f"no limit: {algorithm.public} are public, and an example more or less shows there")
    how = protector.mechanism
    if algorithm.accounting == "aggregate":
        spending = algorithm.planned_ledger(num_users, rounds).spending
    else:
        # Users differ in how often they were drawn; this holds for all of them.
        ledger = algorithm.spent(num_users, rounds)
        spending, how = ledger.spending, ledger.sampling
    about = _words(protector.unit, protector.adjacency, how, rounds)
    return Limit.of_curve(spending, f"{about}, {_CURVE}")


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
        return _of_users(algorithm, [(event, 1)], other_data=True, rounds=1)
    protector = algorithm.protector
    if protector.unit == "example":
        return Limit.none("no limit: the noise hides one example of a user, and a property is one of many")
    event = _loudest([algorithm.user_event(t) for t in range(rounds)])
    how = algorithm.spent(num_users, rounds).sampling
    about = _words(protector.unit, protector.adjacency, how, 1)
    return Limit.of_curve([(event, 1)], f"{about}, {_CURVE}")


def _of_users(algorithm: Algorithm, spending: Spending, *, other_data: bool, rounds: int) -> Limit:
    adjacency = algorithm.sampler.adjacency
    about = _words("user", adjacency, str(algorithm.sampler), rounds)
    if fixed_size(mechanisms(spending)):
        return Limit.of_accountant(spending, adjacency, f"{about}, rdp accountant")
    twice = other_data and adjacency == "add/remove"
    how = f"{_CURVE}, other data by removing and adding" if twice else _CURVE
    return Limit.of_curve(spending, f"{about}, {how}", twice=twice)


def _words(unit: Unit, adjacency: Adjacency, how: str, rounds: int) -> str:
    return f"{unit} level, {adjacency}, {how}, {rounds} round{'' if rounds == 1 else 's'}"


def _loudest(events: list[DpEvent]) -> DpEvent:
    """The event that shows most: rounds of one training differ in nothing but their noise."""

    def noise(event: DpEvent) -> float:
        parts = mechanisms([(event, 1)])
        return fold(*(_multiplier(part) / count**0.5 for part, count in parts)) if parts else math.inf

    return min(events, key=noise)


def _multiplier(event: DpEvent) -> float:
    return float(getattr(event, "event", event).noise_multiplier)
