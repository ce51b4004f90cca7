"""The part of the page that is about many trainings of one experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedward.privacy.guarantee import Unit
from fedward.report.numbers import figure, many, percent
from fedward.report.page.certified import CertifiedPart, certified_part
from fedward.report.page.chart import Chart, Line
from fedward.report.page.examples import Library
from fedward.report.page.facts import about, in_short
from fedward.report.page.part import Part
from fedward.report.page.promise import Promise, promise
from fedward.report.page.reproduce import of_replicas
from fedward.report.page.tables import Cell, Column, Table
from fedward.report.terminal.certified_table import title
from fedward.rundir.run_record import ReplicasRecord

_PROMISES = 4


@dataclass(frozen=True, kw_only=True)
class ReplicasPart(Part):
    """Many trainings, as the page shows them."""

    one_replica: tuple[str, ...]
    promises: tuple[tuple[str, Promise], ...]
    measured: Table | None
    notes: tuple[str, ...]
    certified: CertifiedPart | None


def replicas_part(run: ReplicasRecord, key: str, name: str, library: Library) -> ReplicasPart:
    """Reads everything off a run of replicas that its part of the page shows."""
    first = next(iter(run.experiments.values()))
    variants = len(run.experiments)
    several = f" of each of {many(variants, 'variant')}" if variants > 1 else ""
    state = f"{many(run.replicas, 'training')}{several}"
    costs = cost_charts(run, key) if run.certified is not None and not run.certificates else []
    return ReplicasPart(
        key=key,
        name=name,
        path=str(run.path),
        state=f"finished: {state}" if run.finished else f"not finished: {state} so far",
        finished=run.finished,
        summary=in_short(first, run.manifest),
        facts=tuple(about(first, run.manifest)),
        one_replica=tuple(
            f"one training{f' of {variant}' if variants > 1 else ''}: {run.one_training(variant)}"
            for variant in run.experiments
        ),
        promises=tuple(
            (variant, promise(run.one_training(variant), seed=certificate.seed))
            for variant, certificate in list(run.certificates.items())[:_PROMISES]
        ),
        measured=_measured(run),
        charts=tuple(chart for chart in costs if chart.drawn),
        notes=(
            "This is about one training that is released alone. All of them together, and a certificate "
            "that is computed from them, spend more.",
            *(["What was run, below, is the first variant."] if variants > 1 else []),
        ),
        certified=certified_part(run, f"{key}-certified", library) if run.certificates else None,
        recipe=of_replicas(run),
    )


def _measured(run: ReplicasRecord) -> Table | None:
    if run.result is None:
        return None
    rows = []
    for variant, values in run.result["variants"].items():
        for measure, each in values.items():
            shown = figure if measure.startswith("cost") else percent
            between = "" if each["low"] is None else f"{shown(each['low'])} to {shown(each['high'])}"
            rows.append(
                [
                    Cell(variant),
                    Cell(measure),
                    Cell(shown(each["mean"]), each["mean"]),
                    Cell(between, each["low"]),
                ]
            )
    return Table(
        caption=f"Measured over {many(run.replicas, 'training')} each",
        columns=[
            Column("variant"),
            Column("measure"),
            Column("mean", number=True),
            Column("95 % interval of the mean", number=True),
        ],
        rows=rows,
    )


def cost_charts(run: ReplicasRecord, key: str) -> list[Chart]:
    """The measured cost of an attack beside its bounds, for each variant."""
    charts = []
    for number, (variant, costs) in enumerate((run.certified or {}).items()):
        if not isinstance(costs, dict) or "measured" not in costs:
            continue
        unit: Unit = costs["unit"]
        lines = [
            Line(name="measured", points=tuple((float(m["attackers"]), m["mean"]) for m in costs["measured"]))
        ]
        lines += [
            Line(name=f"least, {title(line['mode'], unit)}", points=_at_each_k(line["lower"]))
            for line in costs["lines"]
        ]
        charts.append(
            Chart(
                key=f"{key}-cost-{number}",
                title=f"Cost of the attack against attackers: {variant}",
                x="attackers" if unit == "user" else "poisoned examples",
                y=f"expected min(cost, {costs['cost_bound']:g})",
                lines=tuple(lines),
                notes=(
                    "An attacker wants the cost small; no attack by so many can bring its expectation "
                    "below the bound. The bound as in the paper takes the average for the expectation, and "
                    "one ε for the whole curve.",
                ),
            )
        )
    return charts


def _at_each_k(values: Any) -> tuple[tuple[float, float], ...]:
    return tuple((float(k), float(value)) for k, value in enumerate(values))
