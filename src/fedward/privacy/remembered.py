"""Guarantees of ledgers that this process has accounted before: many runs spend the same, and pld is slow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from fedward.privacy import user_ledgers_file
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.ledger import Ledger
from fedward.privacy.pld import NoiseTooSmall
from fedward.privacy.user_guarantees import Guarantees
from fedward.privacy.user_ledgers import UserLedgers


def guarantee_of(ledger: Ledger, delta: float, accountant: str) -> Guarantee:
    """What a ledger amounts to; refuses an accountant that has no proof for it."""
    return _guarantee(_Spent(ledger), delta, accountant)


def guarantee_or_rdp(ledger: Ledger, delta: float, accountant: str) -> Guarantee:
    """The same by ``rdp`` where ε is beyond ``pld``."""
    try:
        return guarantee_of(ledger, delta, accountant)
    except NoiseTooSmall:
        return guarantee_of(ledger, delta, "rdp")


def guarantees_of(users: UserLedgers, delta: float, accountant: str) -> Guarantees:
    """The same for the ledgers of all users."""
    return _guarantees(_SpentByUsers(users), delta, accountant)


@dataclass(frozen=True)
class _Spent:
    """A ledger as a key: events that are composed of others have no hash."""

    ledger: Ledger

    def __hash__(self) -> int:
        return hash(repr(self.ledger.spending))


class _SpentByUsers:
    """The ledgers of users as a key: equal if their files are."""

    def __init__(self, users: UserLedgers) -> None:
        self.users = users
        self._text = user_ledgers_file.dumps(users)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SpentByUsers) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


@lru_cache(maxsize=512)
def _guarantee(spent: _Spent, delta: float, accountant: str) -> Guarantee:
    return spent.ledger.guarantee(delta, accountant)


@lru_cache(maxsize=16)
def _guarantees(spent: _SpentByUsers, delta: float, accountant: str) -> Guarantees:
    return spent.users.guarantees(delta, accountant)
