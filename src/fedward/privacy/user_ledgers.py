"""The ledgers of all users that add their own noise; users with equal histories share one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedward.base.randomness import SOURCES, Source
from fedward.base.validate import InvalidValue, one_of, whole
from fedward.privacy.accounting_events import DpEvent
from fedward.privacy.events import ADJACENCIES, Adjacency, check_event
from fedward.privacy.guarantee import UNITS, Guarantee, Unit
from fedward.privacy.ledger import Ledger
from fedward.privacy.shares import look_share
from fedward.privacy.terms import USER, Terms
from fedward.privacy.user_guarantees import Guarantees


@dataclass(frozen=True, eq=False, kw_only=True)
class Reservation:
    """A round that is under way: who is in it, and what it costs each of them."""

    round: int
    users: NDArray[np.int64]
    event: DpEvent

    def __post_init__(self) -> None:
        whole("round", self.round, at_least=0)
        object.__setattr__(self, "event", check_event(self.event))
        if len(self.users) > 1 and not bool((np.diff(self.users) > 0).all()):
            raise InvalidValue("users of a round must be ascending, each of them once")

    def same(self, other: Reservation) -> bool:
        """Whether it is the same round at the same cost to the same users."""
        return (self.round, self.event) == (other.round, other.event) and np.array_equal(
            self.users, other.users
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class UserLedgers:
    """A ledger for each of N users, as small as the number of different histories.

    ε of a user depends on how often it was charged for which event, not on when. So a history is a tuple
    of counts, one for each event there was, and users with equal counts share it. A user that was never
    drawn has spent nothing.

    Args:
      unit, adjacency: what is hidden by each user's own noise, and by that of looks at its norm.
      terms: what the events do not say: public sizes, attackers that deviate or are not drawn.
      noise_source: with ``seeded`` noise a round that is done again is charged once, else again.
      events: the different events that were charged.
      histories: for each history, how often each event was charged.
      history_of: for each user, the place of its history.
      reserved: the round that is under way; it counts as spent.
      later: the rounds after it that are reserved too, where a whole training was sent elsewhere.

    >>> from dp_accounting import GaussianDpEvent
    >>> ledgers = UserLedgers.new(4, unit="user", adjacency="local")
    >>> for t, cohort in enumerate([[0, 2], [0, 3]]):
    ...     ledgers = ledgers.reserve(t, np.array(cohort), GaussianDpEvent(10.0)).settle(t)
    >>> ledgers.histories, ledgers.history_of.tolist()
    (((0,), (1,), (2,)), [2, 0, 1, 1])
    >>> [round(ledgers.guarantee(user, 1e-5, "rdp").epsilon, 3) for user in (0, 1, 2)]
    [0.546, 0.0, 0.375]
    """

    unit: Unit
    adjacency: Adjacency
    terms: Terms
    noise_source: Source
    events: tuple[DpEvent, ...]
    histories: tuple[tuple[int, ...], ...]
    history_of: NDArray[np.int32]
    reserved: Reservation | None = None
    later: tuple[Reservation, ...] = ()

    def __post_init__(self) -> None:
        one_of("unit", self.unit, UNITS)
        one_of("adjacency", self.adjacency, ADJACENCIES)
        one_of("noise source", self.noise_source, SOURCES)
        if not isinstance(self.terms, Terms) or self.terms.noise_of != "user" or self.terms.looks:
            raise InvalidValue(f"terms must be of users that protect themselves, got {self.terms!r}")
        object.__setattr__(self, "events", tuple(map(check_event, self.events)))
        for history in self.histories:
            if len(history) != len(self.events):
                raise InvalidValue(
                    f"a history must count each of {len(self.events)} events, got {len(history)} counts"
                )
            for count in history:
                whole("number of charges", count, at_least=0)
        whole("number of users", self.num_users)
        if not (self.history_of.min() >= 0 and self.history_of.max() < len(self.histories)):
            raise InvalidValue(f"users must have one of {len(self.histories)} histories")
        # A history that nobody has would count as somebody's guarantee.
        if len(set(self.histories)) < len(self.histories) or not self._users_of_histories().all():
            raise InvalidValue("histories must differ, and each be that of some user")
        if self.reserved is not None:
            self._check_users(self.reserved.users)
        before = self.reserved
        for each in self.later:
            if before is None or self.noise_source == "system" or each.round != before.round + 1:
                raise InvalidValue("rounds with seeded noise alone may be reserved ahead, after the next one")
            self._check_users(each.users)
            before = each

    @classmethod
    def new(
        cls,
        num_users: int,
        *,
        unit: Unit,
        adjacency: Adjacency,
        noise_source: Source = "seeded",
        terms: Terms = USER,
    ) -> UserLedgers:
        """Nobody has spent anything."""
        return cls(
            unit=unit,
            adjacency=adjacency,
            terms=terms,
            noise_source=noise_source,
            events=(),
            histories=((),),
            history_of=np.zeros(whole("number of users", num_users), dtype=np.int32),
        )

    @property
    def num_users(self) -> int:
        return len(self.history_of)

    def reserve(self, round: int, users: NDArray[np.int64], event: DpEvent) -> UserLedgers:
        """The ledgers with a round spent by these users, before any of them works.

        A round that is reserved already is being resumed: with seeded noise it must be the same; with system
        entropy its users have spent it for nothing and the new ones spend as well.
        """
        wanted = Reservation(round=round, users=np.sort(users), event=event)
        self._check_users(wanted.users)
        if self.reserved is None:
            return replace(self, reserved=wanted)
        if self.reserved.round != round:
            raise InvalidValue(f"round {self.reserved.round} is reserved and must be next, got {round}")
        if self.noise_source == "system":
            return replace(self._charge(self.reserved), reserved=wanted)
        if not self.reserved.same(wanted):
            raise InvalidValue(f"round {round} must be resumed with the users and the event reserved for it")
        return self

    def reserve_ahead(self, rounds: Sequence[Reservation]) -> UserLedgers:
        """The ledgers with several rounds spent, before the first of them is run elsewhere.

        What is reserved already must be the first of them.
        """
        open_ = [each for each in (self.reserved, *self.later) if each is not None]
        if len(open_) > len(rounds) or not all(map(Reservation.same, open_, rounds)):
            raise InvalidValue("rounds must be resumed with the users and the events reserved for them")
        return replace(self, reserved=rounds[0], later=tuple(rounds[1:])) if rounds else self

    def settle(self, round: int) -> UserLedgers:
        """The ledgers after the reserved round; the next is reserved if it was so before."""
        if self.reserved is None or self.reserved.round != round:
            raise InvalidValue(f"round {round} must be reserved before it is settled")
        settled = self._charge(self.reserved)
        return replace(settled, reserved=self.later[0], later=self.later[1:]) if self.later else settled

    def settled(self) -> UserLedgers:
        """The ledgers once all that is reserved was released."""
        ledgers = self
        while ledgers.reserved is not None:
            ledgers = ledgers.settle(ledgers.reserved.round)
        return ledgers

    def ledger(self, user: int) -> Ledger:
        """What one user has spent."""
        if not 0 <= whole("user", user, at_least=0) < self.num_users:
            raise InvalidValue(f"user must be from 0 to {self.num_users - 1}, got {user}")
        spent = self._with_reserved()
        return spent._ledger(spent.histories[spent.history_of[user]])

    def guarantee(self, user: int, delta: float, accountant: str) -> Guarantee:
        """What is guaranteed to one user."""
        return self.ledger(user).guarantee(delta, accountant)

    def guarantees(self, delta: float, accountant: str) -> Guarantees:
        """What is guaranteed to all of them: one computation for each history."""
        spent = self._with_reserved()
        found = tuple(spent._ledger(h).guarantee(delta, accountant) for h in spent.histories)
        return Guarantees(each=found, users=spent._users_of_histories())

    def largest(self) -> tuple[Ledger, ...]:
        """The ledgers that no other exceeds: one of them has the largest ε, whatever the accountant."""
        spent = self._with_reserved()
        return tuple(
            spent._ledger(history)
            for history in spent.histories
            if not any(
                other != history and all(a >= b for a, b in zip(other, history, strict=True))
                for other in spent.histories
            )
        )

    def about(self) -> tuple[Unit, Adjacency, Terms, Source]:
        """What the ledgers are about: those of one training never change in it."""
        return self.unit, self.adjacency, self.terms, self.noise_source

    @property
    def looked(self) -> bool:
        """Whether any round, the reserved one included, was charged with looks of the server at norms."""
        return any(look_share(event) is not None for event in self._with_reserved().events)

    def _users_of_histories(self) -> NDArray[np.int64]:
        return np.bincount(self.history_of, minlength=len(self.histories))

    def _check_users(self, users: NDArray[np.int64]) -> None:
        if len(users) and not (users[0] >= 0 and users[-1] < self.num_users):
            stranger = users[0] if users[0] < 0 else users[-1]
            raise InvalidValue(f"users must be from 0 to {self.num_users - 1}, got {stranger}")

    def _ledger(self, history: tuple[int, ...]) -> Ledger:
        charged = [event for event, count in zip(self.events, history, strict=True) if count]
        looked = any(look_share(event) is not None for event in charged)
        ledger = Ledger(
            unit=self.unit,
            adjacency=self.adjacency,
            terms=replace(self.terms, looks=looked),
            noise_source=self.noise_source,
        )
        for event, count in zip(self.events, history, strict=True):
            ledger = ledger.charged(event, count) if count else ledger
        return ledger

    def _with_reserved(self) -> UserLedgers:
        """With what is reserved."""
        return self.settled()

    def _charge(self, what: Reservation) -> UserLedgers:
        events, histories = self.events, self.histories
        if what.event not in events:
            events, histories = (*events, what.event), tuple((*history, 0) for history in histories)
        place = events.index(what.event)
        # New histories are numbered from the end; then those that nobody has any more are dropped.
        history_of = self.history_of.copy()
        history_of[what.users] += len(histories)
        moved = tuple(
            tuple(count + (at == place) for at, count in enumerate(history)) for history in histories
        )
        candidates = histories + moved
        used = sorted({candidates[i] for i in np.unique(history_of)})
        places = {history: place for place, history in enumerate(used)}
        renumbered = np.array([places.get(history, -1) for history in candidates], dtype=np.int32)
        return replace(
            self,
            events=events,
            histories=tuple(used),
            history_of=renumbered[history_of],
            reserved=None,
            later=(),
        )
