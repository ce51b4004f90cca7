"""Privacy spent over rounds, under every accountant that has an answer for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fedward.base.validate import InvalidValue
from fedward.privacy import ACCOUNTANTS, Guarantee, Ledger
from fedward.privacy.older_words import PAPERS_SAMPLING
from fedward.privacy.remembered import guarantee_of
from fedward.report.numbers import thinned
from fedward.rundir.run_record import RunRecord

_MOST = {"moments": 12, "rdp": 12, "pld": 4}
"""So many rounds: pld takes up to seconds for each of them."""

NAMES = {"moments": "moments (the papers')", "rdp": "rdp", "pld": "pld"}


@dataclass(frozen=True, kw_only=True)
class Spent:
    """ε after some rounds, for each accountant, and what is said about those that have none."""

    epsilons: dict[str, tuple[tuple[float, float], ...]]
    notes: tuple[str, ...]


def spent(run: RunRecord) -> Spent | None:
    """ε over the rounds of a run; None if it has no guarantee, or none that is known for every round."""
    rounds = thinned(range(1, run.rounds + 1), max(_MOST.values()))
    ledgers = dict(_ledgers(run, rounds))
    if not ledgers or any(ledger.reason for ledger in ledgers.values()):
        return None
    found: dict[str, tuple[tuple[float, float], ...]] = {}
    notes = []
    for name in ACCOUNTANTS:
        try:
            last = _stored(run, name) or guarantee_of(ledgers[rounds[-1]], run.manifest["delta"], name)
            if not last.private:
                return None
            # An accountant that has no proof refuses at once; only one that has is asked for all rounds.
            points = [
                (float(t), guarantee_of(ledgers[t], run.manifest["delta"], name).epsilon)
                for t in thinned(rounds, _MOST[name])[:-1]
            ]
        except InvalidValue as error:
            notes.append(f"{NAMES[name]} is not drawn: {error}.")
            continue
        label = NAMES[name]
        if last.papers_sampling:
            label += ", no proof"
            notes.append(f"{label}: {PAPERS_SAMPLING}.")
        found[label] = (*points, (float(rounds[-1]), last.epsilon))
    return Spent(epsilons=found, notes=tuple(notes)) if found else None


def _stored(run: RunRecord, accountant: str) -> Guarantee | None:
    """What a finished run states itself."""
    found = run.guarantee() if run.result is not None else None
    return found if found is not None and found.accountant == accountant else None


def _ledgers(run: RunRecord, rounds: list[int]) -> Iterator[tuple[int, Ledger]]:
    """The ledger after each of these rounds; where users have their own, that of the one drawn most often."""
    if run.users is None:
        if run.ledger is not None and run.ledger.spending:
            yield from ((t, run.ledger.after(t)) for t in rounds)
        return
    users = run.users
    if len(users.events) != 1 or len(run.telemetry) < run.rounds:
        return
    nothing = replace(users, reserved=None).ledger(0)
    nothing = replace(nothing, entries=())
    drawn = np.zeros(users.num_users, dtype=np.int64)
    for record in run.telemetry[: run.rounds]:
        drawn[record["cohort"]] += 1
        t = record["round"] + 1
        if t in rounds:
            most = int(drawn.max())
            yield t, nothing.charged(users.events[0], most) if most else nothing
