"""The curves of one training: accuracy and attack, norms and bound, privacy spent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fedward.base.validate import InvalidValue
from fedward.privacy import ACCOUNTANTS, Ledger
from fedward.privacy.older_words import PAPERS_SAMPLING
from fedward.privacy.remembered import guarantee_of
from fedward.reports.numbers import at_most_figure, thin
from fedward.reports.page.charts.chart import Chart, Line, Point
from fedward.rundir.run_record import RunRecord

_MOST = {"moments": 12, "rdp": 12, "pld": 4}
"""So many rounds: pld takes up to seconds for each of them."""

_NAMES = {"moments": "moments (the papers')"}


def run_charts(run: RunRecord, key: str) -> Iterator[Chart]:
    """All that there are; one without anything to draw is not left out."""
    accuracy, success = curve(run, "accuracy"), curve(run, "attack_success")
    note = "Attack success is the share of triggered test examples that go to the attackers' class."
    yield Chart(
        key=f"{key}-accuracy",
        title="Accuracy and attack over rounds" if success else "Accuracy over rounds",
        y="share of test examples",
        percent=True,
        lines=(Line("accuracy", accuracy), Line("attack success", success)),
        notes=(note,) if success else (),
    )
    yield _norms(run, key)
    if (spending := epsilon_chart(run, key)) is not None:
        yield spending


def curve(run: RunRecord, measure: str) -> tuple[Point, ...]:
    """What was measured over rounds; rounds without a finite value are left out."""
    return tuple(
        (float(each.round + 1), value)
        for each in run.metrics
        if (value := getattr(each, measure)) is not None and math.isfinite(value)
    )


def _norms(run: RunRecord, key: str) -> Chart:
    medians: dict[bool, list[Point]] = {False: [], True: []}
    bound: list[Point] = []
    for each in run.telemetry:
        t = float(each.round + 1)
        for attackers, points in medians.items():
            if own := each.norms_of(attackers=attackers):
                points.append((t, float(np.median(own))))
        clipped = [value for value in each.bounds if value is not None]
        if clipped and len(clipped) == len(each.bounds):
            bound.append((t, math.hypot(*clipped)))
    notes = ["Telemetry of the simulation: no ε covers it, and it must not be released with the model."]
    if run.users is not None:
        notes.append(
            "Users protect themselves: their updates carry noise, and the bound is that of each example's "
            "gradient, or of the user's own, not of the update."
        )
    elif run.telemetry and not bound:
        notes.append("Nothing bounds the updates: they are not clipped.")
    drawn = {"honest users, median": medians[False], "attackers, median": medians[True], "clip bound": bound}
    return Chart(
        key=f"{key}-norms",
        title="Norms of updates, and the bound, over rounds" if bound else "Norms of updates over rounds",
        y="L2 norm",
        log=True,
        lines=tuple(Line(name, tuple(own), reference=name == "clip bound") for name, own in drawn.items()),
        notes=tuple(notes),
    )


def epsilon_chart(run: RunRecord, key: str) -> Chart | None:
    """ε over the rounds of a run by each accountant, and why some are not drawn.

    None if it has no guarantee, or none that is known for every round.
    """
    rounds = thin(range(1, run.rounds + 1), max(_MOST.values()))
    ledgers = dict(_ledgers(run, rounds))
    if not ledgers or any(ledger.reason for ledger in ledgers.values()):
        return None
    stated = run.guarantee() if run.finished else None
    delta = run.manifest.delta
    assert delta is not None  # a run that has a ledger says it
    lines = []
    notes = ["Users protect themselves: this is the one that was drawn most often."] if run.users else []
    notes.append(
        "Every accountant proves its own ε for the same noise; the smallest is the tightest. "
        f"The run is accounted for by {run.manifest.accountant}."
    )
    for name in ACCOUNTANTS:
        label = _NAMES.get(name, name)
        try:
            known = stated if stated is not None and stated.accountant == name else None
            last = known or guarantee_of(ledgers[rounds[-1]], delta, name)
            if not last.private:
                return None
            # An accountant that has no proof refuses at once; only one that has is asked for all rounds.
            some = thin(rounds, _MOST.get(name, max(_MOST.values())))[:-1]
            points = [(float(t), guarantee_of(ledgers[t], delta, name).epsilon) for t in some]
        except InvalidValue as error:
            notes.append(f"{label} is not drawn: {error}.")
            continue
        if last.papers_sampling:
            label += ", no proof"
            notes.append(f"{label}: {PAPERS_SAMPLING}.")
        lines.append(Line(label, (*points, (float(rounds[-1]), last.epsilon))))
    return Chart(
        key=f"{key}-privacy",
        title="Privacy spent over rounds",
        y=f"ε at δ = {at_most_figure(delta)}",
        promise="at most",
        lines=tuple(lines),
        notes=tuple(notes),
    )


def _ledgers(run: RunRecord, rounds: list[int]) -> Iterator[tuple[int, Ledger]]:
    """The ledger after each of these rounds; where users have their own, that of the one drawn most often."""
    users = run.users
    if users is None:
        if run.ledger is not None and run.ledger.spending:
            yield from ((t, run.ledger.after(t)) for t in rounds)
        return
    if len(users.events) != 1 or len(run.telemetry) < run.rounds:
        return
    nothing = replace(users, reserved=None, later=()).ledger(0).empty()
    drawn = np.zeros(users.num_users, dtype=np.int64)
    for record in run.telemetry[: run.rounds]:
        drawn[record.cohort] += 1
        if (t := record.round + 1) in rounds:
            most = int(drawn.max())
            yield t, nothing.charged(users.events[0], most) if most else nothing
