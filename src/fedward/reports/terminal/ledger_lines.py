"""A ledger for people: what it holds, and whether its claims hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from fedward.privacy import Guarantee, Ledger
from fedward.privacy.accounting_events import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    RandomAllocationDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
)
from fedward.privacy.ledger_file import Check
from fedward.privacy.rounding import round_up
from fedward.privacy.shares import shares
from fedward.privacy.spending import mechanisms, non_private
from fedward.reports.terminal.console import say, table


def print_ledger(
    console: Console, spent: Ledger, checks: Sequence[Check], so_far: Guarantee | None = None
) -> None:
    """What a ledger holds and whether its claims hold, or why it has none."""
    rows = []
    for entry in spent.entries:
        last = entry.first_round + (entry.count if entry.released else 1)
        rounds = f"{entry.first_round + 1} to {last}" if last > entry.first_round + 1 else str(last)
        note = "" if entry.released else ", charged but not released"
        rows.append((rounds, str(entry.count), in_words(entry.event) + note))
    for entry in (*filter(None, [spent.reserved]), *spent.later):
        first, last = entry.first_round + 1, entry.first_round + entry.count
        rounds = f"{first} to {last}" if last > first else str(last)
        rows.append((rounds, str(entry.count), in_words(entry.event) + ", reserved"))
    console.print(table(["rounds", "times", "event"], rows, left=3))
    say(console, None if checks else _without_claims(spent))
    say(console, None if so_far is None else f"so far: {so_far}")
    for check in checks:
        problem = f"{check.problem}: recomputed ε = {round_up(check.recomputed, 6)}"
        say(console, f"{check.claimed}: {'holds' if check.holds else problem}")
        parts = shares(spent, check.claimed.delta, check.claimed.accountant)
        say(console, None if parts is None else str(parts))


def record(spent: Ledger, checks: Sequence[Check], so_far: Guarantee | None = None) -> dict[str, Any]:
    """The same for programs; ``private`` is null where another file knows what is guaranteed."""
    private: bool | None = not spent.reason and not non_private(mechanisms(spent.spending))
    if private and not checks and not unfinished(spent):
        private = None
    return {
        "finished": bool(checks) or not (unfinished(spent) or spent.reserved),
        "private": private,
        "reason": "" if checks else _without_claims(spent),
        "so_far": None if so_far is None else so_far.to_json(),
    }


def unfinished(spent: Ledger) -> bool:
    """Whether a ledger without claims lacks them because its training is not finished."""
    return not spent.reason and bool(mechanisms(spent.spending))


def _without_claims(spent: Ledger) -> str:
    if spent.reason:
        return f"no guarantee: {spent.reason}"
    if unfinished(spent):
        return "no claims: the run is not finished"
    if spent.spending:
        return "no claims: users protect themselves, and `fedward users RUN` shows what each has spent"
    return "no claims: nothing was spent"


def in_words(event: DpEvent) -> str:
    """A round's event for people.

    >>> in_words(PoissonSampledDpEvent(0.2, ComposedDpEvent([GaussianDpEvent(4.0), GaussianDpEvent(3.5)])))
    'noise multiplier 4, look 3.5, of a Poisson sample q = 0.2'
    >>> in_words(SelfComposedDpEvent(GaussianDpEvent(4.0), 3))
    'noise multiplier 4, 3 times'
    """
    if isinstance(event, NoOpDpEvent):
        return "nothing"
    if isinstance(event, PoissonSampledDpEvent):
        return f"{in_words(event.event)}, of a Poisson sample q = {event.sampling_probability:g}"
    if isinstance(event, RandomAllocationDpEvent):
        return f"{in_words(event.event)}, each user in one random round of {event.epoch:,}"
    if isinstance(event, SampledWithoutReplacementDpEvent):
        sample = f"{event.sample_size} of {event.source_dataset_size}"
        return f"{in_words(event.event)} (half of noise over bound), of a fixed-size sample, {sample}"
    if isinstance(event, ComposedDpEvent):
        model, *looks = event.events
        return ", ".join([in_words(model), *(f"look {look.noise_multiplier:g}" for look in looks)])
    if isinstance(event, SelfComposedDpEvent):
        return f"{in_words(event.event)}, {event.count:,} times"
    if isinstance(event, GaussianDpEvent):
        return f"noise multiplier {event.noise_multiplier:g}"
    return "not private"
