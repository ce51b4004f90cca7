"""The reservation of a whole training at once: for one that runs where its ledgers are not."""

from __future__ import annotations

from dataclasses import replace

from fedward.base.validate import InvalidValue
from fedward.core.algorithm import Algorithm
from fedward.core.roster import Roster
from fedward.core.round import draw_cohort
from fedward.core.train import covers
from fedward.core.types import ServerState
from fedward.privacy.accounting_events import DpEvent
from fedward.privacy.budget import Budget
from fedward.privacy.user_ledgers import Reservation


def reserve_ahead(
    algorithm: Algorithm, state: ServerState, roster: Roster, *, rounds: int, seed: int, budget: Budget | None
) -> ServerState:
    """The state with every round reserved that is still to come and that the budget allows.

    Events and cohorts of seeded trainings do not depend on what is trained, so all of them are known before
    the first round. What was reserved before stays reserved.

    Args:
      rounds: how many the whole training has.
      seed: of its named streams.
    """
    if algorithm.noise_source != "seeded":
        raise InvalidValue(
            "a training that is reserved as a whole must have seeded noise, got system entropy"
        )
    events: list[DpEvent] = []
    charged: list[Reservation] = []
    after = replace(state, ledger=replace(state.ledger, reserved=None, later=()))
    if after.users is not None:
        after = replace(after, users=replace(after.users, reserved=None, later=()))
    for t in range(state.round, rounds):
        event = algorithm.round_event(roster.num_users, t)
        reserved = replace(after, round=t, ledger=after.ledger.reserve(t, event))
        if reserved.users is not None:
            cohort = draw_cohort(algorithm, reserved, roster, seed)
            users = reserved.users.reserve(t, cohort, algorithm.user_event(t))
            reserved = replace(reserved, users=users)
        if budget is not None and not covers(budget, reserved, rounds):
            break
        events.append(event)
        after = replace(reserved, ledger=reserved.ledger.settle(t))
        if reserved.users is not None:
            assert reserved.users.reserved is not None  # just made
            charged.append(reserved.users.reserved)
            after = replace(after, users=reserved.users.settle(t))
    ahead = replace(state, ledger=state.ledger.reserve_ahead(events))
    return ahead if state.users is None else replace(ahead, users=state.users.reserve_ahead(charged))
