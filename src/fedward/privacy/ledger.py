"""The ledger: which rounds were paid for, and with what."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fedward.base.randomness import SOURCES, Source
from fedward.base.validate import InvalidType, InvalidValue, one_of, whole
from fedward.privacy.accountants import epsilon_of
from fedward.privacy.accounting_events import DpEvent, RandomAllocationDpEvent
from fedward.privacy.events import ADJACENCIES, Adjacency, check_event, times
from fedward.privacy.guarantee import UNITS, Guarantee, Unit, text
from fedward.privacy.sampling_words import sampling_in_words
from fedward.privacy.spending import has_looks, is_fixed_size, is_sampled, mechanisms, non_private
from fedward.privacy.terms import SERVER, Terms


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The same event, ``count`` times.

    Args:
      event: what was charged.
      first_round: the round of the first charge.
      count: how often. Released rounds follow each other.
      released: whether these are rounds that were released; otherwise ``first_round`` was charged this
        often in vain, each time by a training that was killed before it could store the round.
    """

    event: DpEvent
    first_round: int
    count: int = 1
    released: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "event", check_event(self.event))
        whole("first round", self.first_round, at_least=0)
        times(self.count)
        if not isinstance(self.released, bool):
            raise InvalidType(f"released must be true or false, got {self.released!r}")


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """What a training has spent so far. A value: reserving and settling give a new ledger.

    A round is *reserved* before any of its work starts, and counts as spent from then on; it is *settled*
    when its result is stored. So a training that is killed at any moment has spent what its ledger says.

    Args:
      unit: whose presence is hidden.
      adjacency: what the events' noise multipliers are relative to.
      noise_source: with ``seeded`` noise a round that is done again draws the same noise and is charged once;
        with ``system`` entropy it is charged again.
      terms: what the events do not say: whose noise it is, the divisor, attackers that are not drawn.
      entries: what was charged, in order of rounds.
      reserved: the round that is under way.
      later: the rounds after it that are reserved too, where a whole training was sent elsewhere.
      reason: why there is no guarantee, whatever was spent.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> event = PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
    >>> ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    >>> for t in range(3):
    ...     ledger = ledger.reserve(t, event).settle(t)
    >>> ledger.rounds, len(ledger.entries), round(ledger.guarantee(0.0029, "moments").epsilon, 4)
    (3, 1, 0.2808)
    """

    unit: Unit
    adjacency: Adjacency
    noise_source: Source
    terms: Terms = SERVER
    entries: tuple[Entry, ...] = ()
    reserved: Entry | None = None
    later: tuple[Entry, ...] = ()
    reason: str = ""

    def __post_init__(self) -> None:
        one_of("unit", self.unit, UNITS)
        one_of("adjacency", self.adjacency, ADJACENCIES)
        one_of("noise source", self.noise_source, SOURCES)
        if not isinstance(self.terms, Terms):
            raise InvalidType(f"terms must be the terms of a ledger, got {self.terms!r}")
        if self.adjacency == "add/remove" and self.terms.divisor is not None and not self.terms.declared:
            raise InvalidValue(
                "a divisor that follows the number of users has no proof for users added or removed, got "
                "add/remove adjacency; declare the number of users, or use zero-out"
            )
        text("reason", self.reason)
        object.__setattr__(self, "entries", tuple(self.entries))
        following = 0
        for entry in self.entries:
            if not isinstance(entry, Entry):
                raise InvalidType(f"entries must be ledger entries, got {entry!r}")
            if entry.first_round != following:
                raise InvalidValue(
                    f"entries must follow each other: round {following} is next, got {entry.first_round}"
                )
            if not entry.released and self.noise_source == "seeded":
                raise InvalidValue(
                    "a round with seeded noise must be charged once, got a charge without a release"
                )
            following += entry.count if entry.released else 0
        if self.reserved is not None and self.reserved != Entry(
            event=self.reserved.event, first_round=following
        ):
            raise InvalidValue(f"one reservation of round {following} may be open, got {self.reserved}")
        object.__setattr__(self, "later", tuple(self.later))
        following += 1
        for entry in self.later:
            if self.reserved is None or self.noise_source == "system" or not entry.released:
                raise InvalidValue("rounds with seeded noise alone may be reserved ahead, after the next one")
            if entry.first_round != following:
                raise InvalidValue(f"round {following} must be reserved next, got {entry.first_round}")
            following += entry.count
        self._check_epochs()

    def _check_epochs(self) -> None:
        """Refuses events of epochs that the terms do not speak of."""
        for event, _ in self.spending:
            if isinstance(event, RandomAllocationDpEvent) and event.epoch != self.terms.epoch:
                raise InvalidValue(
                    f"epochs of {event.epoch} rounds must be those of the terms, got {self.terms.epoch}"
                )

    @property
    def rounds(self) -> int:
        """How many rounds were released."""
        if not self.entries:
            return 0
        last = self.entries[-1]
        return last.first_round + (last.count if last.released else 0)

    @property
    def spending(self) -> tuple[tuple[DpEvent, int], ...]:
        """All that was charged, open reservations included."""
        charges = (*self.entries, self.reserved, *self.later) if self.reserved is not None else self.entries
        return tuple((entry.event, entry.count) for entry in charges)

    @property
    def rounds_reserved(self) -> int:
        """How many rounds are reserved and not settled."""
        return (self.reserved is not None) + sum(entry.count for entry in self.later)

    @property
    def sampling(self) -> str:
        """How cohorts (or batches) were drawn, in words made from the events."""
        return sampling_in_words(self.spending, self.terms)

    def reserve(self, round: int, event: DpEvent) -> Ledger:
        """The ledger with the next round's event spent, before the round is run.

        If the round is reserved already, a killed training is being resumed: see ``noise_source``.
        """
        self._require_next(round)
        wanted = Entry(event=event, first_round=self.rounds)
        if self.reserved is None:
            return replace(self, reserved=wanted)
        if self.noise_source == "system":
            return replace(self._with(replace(self.reserved, released=False)), reserved=wanted)
        if wanted != self.reserved:
            raise InvalidValue(
                f"round {round} must be resumed with its reserved {self.reserved.event}, got {event}"
            )
        return self

    def reserve_ahead(self, events: Sequence[DpEvent]) -> Ledger:
        """The ledger with one more round spent for each event, before the first of them is run elsewhere.

        What is reserved already must be the first of them. Settled one after the other, they leave what
        rounds leave that were reserved one by one.

        >>> from dp_accounting import GaussianDpEvent
        >>> ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
        >>> ledger = ledger.reserve_ahead([GaussianDpEvent(2.0)] * 3)
        >>> ledger.rounds, ledger.rounds_reserved, ledger.settle(0).settle(1).rounds_reserved
        (0, 3, 1)
        """
        open_ = [entry.event for entry in (self.reserved, *self.later) if entry for _ in range(entry.count)]
        wanted = [check_event(event) for event in events]
        if open_ != wanted[: len(open_)]:
            raise InvalidValue("rounds must be resumed with the events reserved for them, got others")
        if not wanted:
            return self
        first = self.rounds
        later: list[Entry] = []
        for number, event in enumerate(wanted[1:], start=first + 1):
            if later and later[-1].event == event:
                later[-1] = replace(later[-1], count=later[-1].count + 1)
            else:
                later.append(Entry(event=event, first_round=number))
        return replace(self, reserved=Entry(event=wanted[0], first_round=first), later=tuple(later))

    def settle(self, round: int) -> Ledger:
        """The ledger after the reserved round was released; the next is reserved if it was so before."""
        self._require_next(round)
        if self.reserved is None:
            raise InvalidValue(f"round {round} must be reserved before it is settled, got no reservation")
        settled = self._with(self.reserved)
        if not self.later:
            return settled
        one, *others = self.later
        if one.count > 1:
            others.insert(0, replace(one, first_round=one.first_round + 1, count=one.count - 1))
        return replace(settled, reserved=replace(one, count=1), later=tuple(others))

    def settled(self) -> Ledger:
        """The ledger once all that is reserved was released."""
        ledger = self
        while ledger.reserved is not None:
            ledger = ledger.settle(ledger.reserved.first_round)
        return ledger

    def empty(self) -> Ledger:
        """The ledger before its first round."""
        return replace(self, entries=(), reserved=None, later=())

    def charged(self, event: DpEvent, rounds: int) -> Ledger:
        """The ledger after that many more rounds of the same event."""
        if self.reserved is not None:
            raise InvalidValue(
                f"round {self.rounds} must be settled before more are charged, got an open reservation"
            )
        return self._with(Entry(event=event, first_round=self.rounds, count=rounds))

    def repeated(self, times: int) -> Ledger:
        """The ledger of that many trainings, each of which has spent this much, all of them released."""
        together = self.empty()
        for event, count in self.spending:
            together = together.charged(event, count * times)
        return together

    def after(self, rounds: int) -> Ledger:
        """The ledger as it was when that many rounds were released, with what was charged in vain till then.

        >>> from dp_accounting import GaussianDpEvent
        >>> ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
        >>> ledger.charged(GaussianDpEvent(2.0), 5).after(2) == ledger.charged(GaussianDpEvent(2.0), 2)
        True
        """
        whole("rounds", rounds, at_least=0)
        entries = tuple(
            replace(entry, count=min(entry.count, rounds - entry.first_round)) if entry.released else entry
            for entry in self.entries
            if entry.first_round < rounds
        )
        return replace(self, entries=entries, reserved=None, later=())

    def guarantee(self, delta: float, accountant: str, devices: int = 1) -> Guarantee:
        """What the spending amounts to. Refuses an accountant that has no proof for it.

        Args:
          devices: how many users one person may be; ``pld`` alone has a curve for more than one.
        """
        parts = mechanisms(self.spending)
        epsilon = epsilon_of(parts, delta, accountant, self.adjacency)
        if whole("devices per person", devices) > 1 and not self.reason and epsilon < math.inf:
            epsilon = self._of_a_person(delta, accountant, devices)
        reason = self.reason
        if not reason and epsilon == math.inf:
            reason = (
                "a release was not private"
                if non_private(parts)
                else "the noise is too small for any finite ε"
            )
        unreleased = sum(count for _, count in self.spending) - self.rounds
        return Guarantee(
            epsilon=math.inf if reason else epsilon,
            delta=delta,
            unit=self.unit,
            adjacency=self.adjacency,
            sampling=self.sampling,
            accountant=accountant,
            noise_source=self.noise_source,
            rounds=self.rounds,
            # A look adds noise in floating point.
            terms=replace(self.terms, exact=self.terms.exact and not has_looks(self.spending)),
            sampled=self.terms.noise_of in ("server", "looks") and is_sampled(parts),
            papers_sampling=accountant == "moments" and is_fixed_size(parts),
            caveat=f"{unreleased} more charged: reserved, not released" if unreleased else "",
            reason=reason,
            devices=devices,
        )

    def _of_a_person(self, delta: float, accountant: str, devices: int) -> float:
        if accountant != "pld":
            raise InvalidValue(f"several devices per person must be accounted by pld, got {accountant!r}")
        from fedward.privacy.person import person_epsilon  # the curves of groups take a moment to import

        return person_epsilon(self, delta, devices)

    def _require_next(self, round: int) -> None:
        if whole("round", round, at_least=0) != self.rounds:
            raise InvalidValue(f"round must be the next one, {self.rounds}, got {round}")

    def _with(self, entry: Entry) -> Ledger:
        """The ledger with one more entry, merged into the last one if it goes on with the same."""
        last = self.entries[-1] if self.entries else None
        if last is not None and (last.event, last.released) == (entry.event, entry.released):
            merged = replace(last, count=last.count + entry.count)
            return replace(self, entries=(*self.entries[:-1], merged), reserved=None, later=())
        return replace(self, entries=(*self.entries, entry), reserved=None, later=())
