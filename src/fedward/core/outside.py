"""The Protocols of what a training needs from outside: a backend that runs its jobs, and a journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from fedward.core.values import Job, Row
from fedward.privacy.ledger import Ledger
from fedward.privacy.user_ledgers import UserLedgers


class Backend(Protocol):
    """Runs jobs. Rows come in the order of the jobs, whatever ran where."""

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]: ...


class Journal(Protocol):
    """Makes a reservation durable before any job of its round runs."""

    def reserve(self, ledger: Ledger, users: UserLedgers | None = None) -> None: ...
