"""Accountants: from what was spent to ε at δ. They interpret events, and refuse what has no proof."""

from __future__ import annotations

from collections.abc import Callable

from fedward.base.validate import one_of
from fedward.privacy.events import Adjacency
from fedward.privacy.moments import moments
from fedward.privacy.pld import pld
from fedward.privacy.rdp import rdp
from fedward.privacy.spending import Spending

ACCOUNTANTS: dict[str, Callable[[Spending, float, Adjacency], float]] = {
    "moments": moments,
    "rdp": rdp,
    "pld": pld,
}
"""The accountants, by the names that experiment files use."""


def epsilon_of(spending: Spending, delta: float, accountant: str, adjacency: Adjacency) -> float:
    """ε at δ by the accountant of that name: infinite if something is not private, 0 for nothing spent."""
    one_of("accountant", accountant, ACCOUNTANTS)
    return ACCOUNTANTS[accountant](spending, delta, adjacency)
