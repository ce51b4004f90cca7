"""The cost of events, to tell whether one claims less than what was done."""

from __future__ import annotations

from dp_accounting import DpEvent

from fedward.privacy.accountants import epsilon_of
from fedward.privacy.events import Adjacency

DELTA = 1e-5
TOLERANCE = 1e-3


def cost(event: DpEvent, adjacency: Adjacency = "add/remove") -> float:
    """ε at δ = 1e-5 by Rényi accounting: a number to compare events by."""
    return epsilon_of([(event, 1)], DELTA, "rdp", adjacency)


def costs_less(event: DpEvent, than: DpEvent) -> bool:
    """Whether an event claims clearly less ε than another one, for one user added or removed."""
    return cost(event) < cost(than) * (1 - TOLERANCE)
