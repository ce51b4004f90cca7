"""The renewal of ledgers from files of version 1: their terms become those of the training that goes on."""

from __future__ import annotations

from dataclasses import replace

from fedward.privacy.events import Adjacency
from fedward.privacy.ledger import Ledger
from fedward.privacy.terms import Terms
from fedward.privacy.user_ledgers import UserLedgers


def renew(stored: Ledger, wanted: Ledger) -> Ledger:
    """The stored ledger with the terms of ``wanted``, an empty one, if version 1 would have stored just it.

    Version 1 did not say what sums are divided by, and called every such ledger add/remove. What was charged
    is the same. A ledger that differs in anything else comes back as it is.

    >>> old = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    >>> new = replace(old, adjacency="zero-out", terms=Terms(divisor=50.0))
    >>> renew(old, new) == new
    True
    """
    if stored.empty() != _as_version_1(wanted):
        return stored
    # Its rounds were not exact, and one that is not is enough.
    return replace(stored, adjacency=wanted.adjacency, terms=replace(wanted.terms, exact=False))


def renew_users(stored: UserLedgers, wanted: UserLedgers) -> UserLedgers:
    """The same for the ledgers of users that protect themselves."""
    old = replace(wanted, adjacency=_adjacency(wanted), terms=_terms(wanted.terms))
    if stored.about() != old.about():
        return stored
    return replace(stored, adjacency=wanted.adjacency, terms=wanted.terms)


def _as_version_1(ledger: Ledger) -> Ledger:
    return replace(ledger, adjacency=_adjacency(ledger), terms=_terms(ledger.terms))


def _terms(terms: Terms) -> Terms:
    return replace(terms, divisor=None, declared=False, cohort=None, handed_out=0, exact=False)


def _adjacency(ledger: Ledger | UserLedgers) -> Adjacency:
    return "add/remove" if ledger.adjacency == "zero-out" else ledger.adjacency
