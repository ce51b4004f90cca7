"""The ledger of a node: what each of its users has spent, over all runs of all servers, in one file.

A user is charged before it trains, durably: whatever happens afterwards, the release that may have left the
node is in its ledger.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from dp_accounting import DpEvent
from filelock import FileLock, Timeout

from fedward.base.durable_files import make_directory, remove_leftovers, write_atomically
from fedward.base.limited_files import read_text
from fedward.base.randomness import Source
from fedward.base.strict_json import digest, parse, require_keys
from fedward.base.validate import InvalidValue, add_to_errors
from fedward.core.types import PrivateTrainer
from fedward.privacy import user_ledgers_file
from fedward.privacy.budget import Budget
from fedward.privacy.ledger import Ledger
from fedward.privacy.user_ledgers import UserLedgers

_FORMAT, _VERSION = "fedward node ledger", 1
_PATIENCE = 60.0
FILE = "node-ledger.json"


@dataclass(frozen=True, eq=False, kw_only=True)
class Spendings:
    """Who has spent what: the names of users, and their ledgers in the same order."""

    names: tuple[str, ...]
    ledgers: UserLedgers

    def ledger(self, name: str) -> Ledger | None:
        """What one user has spent; None if it was never asked."""
        return self.ledgers.ledger(self.names.index(name)) if name in self.names else None


class NodeLedger:
    """The file, and the budget that it is held against.

    >>> import tempfile
    >>> from fedward.local import NoisyGradient
    >>> budget = Budget(epsilon=0.8, delta=1e-5, accountant="pld")
    >>> trainer = NoisyGradient(noise_multiplier=15.0, clip_bound=1.0, noise_source="system")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = NodeLedger(Path(folder), budget)
    ...     [sorted(ledger.charge(["ann", "bob"][:n], trainer, trainer.local_event(0))) for n in (2, 1, 2)]
    [['ann', 'bob'], ['ann'], ['bob']]
    """

    def __init__(self, directory: Path, budget: Budget) -> None:
        self.path = directory / FILE
        self._budget = budget

    def charge(self, users: Sequence[str], trainer: PrivateTrainer, event: DpEvent) -> frozenset[str]:
        """Charges an event to those of these users who can afford it, and says who they are.

        A ledger that cannot be read, or is about other noise, lets nobody train.
        """
        if not users:
            return frozenset()
        with self._locked():
            before = self._with_users(self.read(), users, trainer)
            places = np.array(sorted(before.names.index(name) for name in users))
            after = before.ledgers.reserve(0, places, event).settle(0)
            covered: dict[int, bool] = {}
            for place in places.tolist():
                history = int(after.history_of[place])
                if history not in covered:
                    spent = after.ledger(place)
                    covered[history] = self._budget.covers(spent, max(1, spent.rounds))
            can = np.array([place for place in places.tolist() if covered[int(after.history_of[place])]])
            if not len(can):
                return frozenset()
            charged = before.ledgers.reserve(0, can.astype(np.int64), event).settle(0)
            self._write(replace(before, ledgers=charged))
            return frozenset(before.names[place] for place in can.tolist())

    def read(self) -> Spendings | None:
        """What the file says; None if there is none yet."""
        try:
            text = read_text(self.path)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidValue(f"{self.path} cannot be read: {error}; put back a copy of it") from error
        with add_to_errors(f"{self.path} cannot be used: ", "; put back a copy of it"):
            content = parse(text, "node ledger")
            require_keys(content, ("format", "version", "names", "ledgers", "digest"), "node ledger")
            found = content.pop("digest")
            if (content["format"], content["version"]) != (_FORMAT, _VERSION) or found != digest(content):
                raise InvalidValue("node ledger must be as it was written, got one that was changed")
            names = tuple(map(str, content["names"]))
            ledgers = user_ledgers_file.loads(content["ledgers"])
            if ledgers.num_users != len(names) or len(set(names)) < len(names):
                raise InvalidValue(f"node ledger must have a name for each of {ledgers.num_users} users")
        return Spendings(names=names, ledgers=ledgers)

    def _with_users(
        self, stored: Spendings | None, users: Sequence[str], trainer: PrivateTrainer
    ) -> Spendings:
        """The spendings with every one of these users in them; those that are new have spent nothing."""
        if stored is None:
            ledgers = UserLedgers.new(
                len(users),
                unit=trainer.unit,
                adjacency=trainer.adjacency,
                noise_source=trainer.noise_source,
            )
            return Spendings(names=tuple(users), ledgers=ledgers)
        self._require_same(stored.ledgers, trainer)
        new = tuple(name for name in users if name not in set(stored.names))
        if not new:
            return stored
        ledgers = stored.ledgers
        nothing = (0,) * len(ledgers.events)
        histories = ledgers.histories if nothing in ledgers.histories else (*ledgers.histories, nothing)
        added = np.full(len(new), histories.index(nothing), dtype=np.int32)
        ledgers = replace(
            ledgers, histories=histories, history_of=np.concatenate([ledgers.history_of, added])
        )
        return Spendings(names=stored.names + new, ledgers=ledgers)

    def _require_same(self, ledgers: UserLedgers, trainer: PrivateTrainer) -> None:
        about: tuple[str, str, Source] = (ledgers.unit, ledgers.adjacency, ledgers.noise_source)
        wanted = (trainer.unit, trainer.adjacency, trainer.noise_source)
        if about != wanted:
            raise InvalidValue(
                f"{self.path} is about {', '.join(about)}, and this training about {', '.join(wanted)}: what "
                "they spend does not add up in one ledger; use another directory, and another budget"
            )

    def _write(self, spendings: Spendings) -> None:
        body = {
            "format": _FORMAT,
            "version": _VERSION,
            "names": list(spendings.names),
            "ledgers": user_ledgers_file.dumps(spendings.ledgers),
        }
        text = json.dumps({**body, "digest": digest(body)}, indent=2) + "\n"
        write_atomically(self.path, text.encode(), private=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_directory(self.path.parent)
        lock = FileLock(self.path.parent / ".lock", timeout=_PATIENCE)
        try:
            lock.acquire()
        except Timeout:
            raise InvalidValue(f"{self.path} is in use by another process") from None
        try:
            remove_leftovers(self.path.parent)
            yield
        finally:
            lock.release()
