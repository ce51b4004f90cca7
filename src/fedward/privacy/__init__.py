"""Privacy accounting: ledgers of what was spent, the ε that follows, and budgets for the rest."""

from __future__ import annotations

from fedward.privacy.accountants import ACCOUNTANTS, epsilon_of
from fedward.privacy.budget import Budget
from fedward.privacy.calibrate import noise_for, rounds_for
from fedward.privacy.events import Adjacency, fold
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.ledger import Entry, Ledger
from fedward.privacy.spending import Spending

__all__ = [
    "ACCOUNTANTS",
    "Adjacency",
    "Budget",
    "Entry",
    "Guarantee",
    "Ledger",
    "Spending",
    "epsilon_of",
    "fold",
    "noise_for",
    "rounds_for",
]
