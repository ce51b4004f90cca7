"""The cost of events, to tell whether one claims less than what was done."""

from __future__ import annotations

from dp_accounting import DpEvent

from fedward.privacy.accountants import epsilon_of
from fedward.privacy.events import Adjacency
from fedward.privacy.spending import is_allocated, mechanisms

DELTA = 1e-5
TOLERANCE = 1e-3


def cost(event: DpEvent, adjacency: Adjacency = "add/remove") -> float:
    """ε at δ = 1e-5, by Rényi accounting where that can: a number to compare events by."""
    accountant = "pld" if is_allocated(mechanisms([(event, 1)])) else "rdp"
    return epsilon_of([(event, 1)], DELTA, accountant, adjacency)


def costs_less(event: DpEvent, than: DpEvent) -> bool:
    """Whether an event claims clearly less ε than another one, for one user added or removed."""
    if is_allocated(mechanisms([(event, 1)])):  # both by the accountant that can
        return epsilon_of([(event, 1)], DELTA, "pld", "add/remove") < (
            epsilon_of([(than, 1)], DELTA, "pld", "add/remove") * (1 - TOLERANCE)
        )
    return cost(event) < cost(than) * (1 - TOLERANCE)
