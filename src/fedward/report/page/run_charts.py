"""The curves of one training: accuracy and attack, norms and bound, privacy spent."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fedward.report.numbers import at_most_figure
from fedward.report.page.chart import Chart, Line, Point
from fedward.report.page.spending import spent
from fedward.rundir.run_record import RunRecord


def run_charts(run: RunRecord, key: str) -> Iterator[Chart]:
    """All that there are; one without anything to draw is not left out."""
    accuracy, success = curve(run, "accuracy"), curve(run, "attack_success")
    lines = [Line(name="accuracy", points=accuracy), Line(name="attack success", points=success)]
    yield Chart(
        key=f"{key}-accuracy",
        title="Accuracy and attack over rounds" if success else "Accuracy over rounds",
        x="round",
        y="share of test examples",
        percent=True,
        lines=tuple(lines),
        notes=("Attack success is the share of triggered test examples that go to the attackers' class.",)
        if success
        else (),
    )
    yield _norms(run, key)
    spending = spent(run)
    if spending is not None:
        yield Chart(
            key=f"{key}-privacy",
            title="Privacy spent over rounds",
            x="round",
            y=f"ε at δ = {at_most_figure(run.manifest['delta'])}",
            promise="at most",
            lines=tuple(Line(name=name, points=points) for name, points in spending.epsilons.items()),
            notes=(
                *(
                    ["Users protect themselves: this is the one that was drawn most often."]
                    if run.users
                    else []
                ),
                "Every accountant proves its own ε for the same noise; the smallest is the tightest. "
                f"The run is accounted for by {run.manifest['accountant']}.",
                *spending.notes,
            ),
        )


def curve(run: RunRecord, measure: str) -> tuple[Point, ...]:
    """What was measured over rounds; rounds without a finite value are left out."""
    return tuple(
        (float(record["round"] + 1), float(record[measure]))
        for record in run.metrics
        if record.get(measure) is not None and math.isfinite(record[measure])
    )


def _norms(run: RunRecord, key: str) -> Chart:
    honest: list[Point] = []
    malicious: list[Point] = []
    bound: list[Point] = []
    for record in run.telemetry:
        t = float(record["round"] + 1)
        theirs, rejected = set(record["malicious"]), set(record["rejected"])
        pairs = [
            (user in theirs, norm)
            for user, norm in zip(record["cohort"], record["norms"], strict=True)
            if norm is not None and user not in rejected
        ]
        for points, who in ((honest, False), (malicious, True)):
            norms = [norm for bad, norm in pairs if bad is who]
            if norms:
                points.append((t, float(np.median(norms))))
        bounds = record["bounds"]
        if bounds and all(each is not None for each in bounds):
            bound.append((t, math.hypot(*bounds)))
    notes = ["Telemetry of the simulation: no ε covers it, and it must not be released with the model."]
    if run.users is not None:
        notes.append(
            "Users protect themselves: their updates carry noise, and the bound is that of each example's "
            "gradient, or of the user's own, not of the update."
        )
    elif run.telemetry and not bound:
        notes.append("Nothing bounds the updates: they are not clipped.")
    return Chart(
        key=f"{key}-norms",
        title="Norms of updates, and the bound, over rounds" if bound else "Norms of updates over rounds",
        x="round",
        y="L2 norm",
        log=True,
        lines=(
            Line(name="honest users, median", points=tuple(honest)),
            Line(name="attackers, median", points=tuple(malicious)),
            Line(name="clip bound", points=tuple(bound)),
        ),
        notes=tuple(notes),
    )
