"""Runs side by side: one row each, their curves in one picture, and what is different about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fedward.attacks.adaptive import untried
from fedward.config.tried_defence import MARK, MEANING, tried_defence
from fedward.privacy import Guarantee
from fedward.reports.numbers import percent, percent_certified
from fedward.reports.page.certified.three_accuracies import three_accuracies
from fedward.reports.page.charts.chart import Chart, Line
from fedward.reports.page.charts.run_charts import curve
from fedward.reports.page.charts.tables import Cell, Column, Table, bound_cell, share_cell
from fedward.reports.page.findings.compared_training import ComparedTraining
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.catalogue.facts import differing_keys
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import ReplicasRecord, RunRecord

# Whether a column is of numbers.
_COLUMNS = {"run": False, "algorithm": False, "accuracy": True, "attack success": True, "certified": True}
_COLUMNS |= {"ε": True, "δ": True, "rounds": True, "state": False}
_NONE = "-"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What the page says about all runs together."""

    table: Table
    charts: tuple[Chart, ...]
    different: Table | None
    notes: tuple[str, ...]


def compare_runs(trainings: Sequence[ComparedTraining]) -> Comparison:
    """The trainings of a page in rows and in charts, each in its colour."""
    marks = untried([tried_defence(each.experiment) for each in trainings])
    rows = [_row(each, mark) for each, mark in zip(trainings, marks, strict=True)]
    attacked = any(row["attack success"].value is not None for row in rows)
    certified = any(row["certified"].text for row in rows)
    left_out = {"attack success": not attacked, "certified": not certified}
    columns = [name for name in _COLUMNS if not left_out.get(name)]
    return Comparison(
        table=Table(
            caption="Every run in a row",
            columns=[Column(name, number=_COLUMNS[name]) for name in columns],
            rows=[[row[name] for name in columns] for row in rows],
        ),
        charts=tuple(_charts(trainings)),
        different=_different({each.name: each.experiment for each in trainings}),
        notes=(*([f"{MEANING}."] if attacked and any(marks) else []), *_notes(trainings)),
    )


def _row(each: ComparedTraining, untried: bool) -> dict[str, Cell]:
    record, planned = each.record, each.experiment["rounds"]
    rounds, of = Cell(str(planned), planned), "" if each.alone else " (one training)"
    if isinstance(record, RunRecord):
        rounds = Cell(f"{record.rounds} of {planned}", record.rounds)
        state = "finished" if record.finished else "not finished"
    elif isinstance(record, InferenceRecord):
        state = f"{record.kind}, not finished"
        if record.best is not None:
            state = f"{record.kind}: AUC {percent(record.attacks[record.best].auc.value)}"
    elif isinstance(record, AuditRecord):
        state = "audit, not finished" if record.result is None else f"audit: {record.verdict}"
    else:
        count = f"{record.replicas} trainings"
        state = f"mean of {count}" if record.finished else f"{count} so far"
    success = share_cell(each.attack_success)
    return {
        "run": Cell(each.name, sample=each.style.sample, to=each.key),
        "algorithm": Cell(str(each.experiment["algorithm"].get("preset", "?"))),
        "accuracy": share_cell(each.accuracy),
        "attack success": _marked(success) if untried else success,
        "certified": _certified(each),
        "ε": _epsilon(each.guarantee, of),
        "δ": Cell("") if each.guarantee is None else bound_cell(each.guarantee.delta),
        "rounds": rounds,
        "state": Cell(state),
    }


def _epsilon(guarantee: Guarantee | None, of: str) -> Cell:
    if guarantee is None:
        return Cell(_NONE)
    return bound_cell(guarantee.epsilon, of if guarantee.proven else " (no proof)")


def _certified(each: ComparedTraining) -> Cell:
    record = each.record
    if not isinstance(record, ReplicasRecord) or each.variant not in record.certificates:
        return Cell("")
    three = three_accuracies(record, each.variant)
    return Cell(f"{percent_certified(three.certified)} against {three.k}", three.certified)


def _marked(cell: Cell) -> Cell:
    return cell if cell.value is None else replace(cell, text=f"{cell.text} {MARK}")


def _charts(trainings: Sequence[ComparedTraining]) -> Iterator[Chart]:
    """A chart of each measure that two runs have curves of, with the names of those that have none."""
    for measure, missing in (
        ("accuracy", "no accuracy over rounds was measured"),
        ("attack_success", "nobody attacked, or nothing was marked"),
    ):
        lines, others = [], []
        for each in trainings:
            points = curve(each.record, measure) if isinstance(each.record, RunRecord) else ()
            if points:
                lines.append(Line(each.name, points, style=each.style))
            else:
                others.append(each.name)
        if len(lines) < 2:
            continue
        yield Chart(
            key=f"all-{measure.replace('_', '-')}",
            title=f"{measure.replace('_', ' ').capitalize()} over rounds",
            y="share of test examples",
            percent=True,
            lines=tuple(lines),
            notes=(f"Not in this chart: {', '.join(others)} ({missing}).",) if others else (),
        )
    certified = [each for each in trainings if _certified(each).text]
    if len(certified) > 1:
        yield _certified_chart(certified, [each.name for each in trainings if not _certified(each).text])


def _certified_chart(certified: Sequence[ComparedTraining], others: Sequence[str]) -> Chart:
    lines = []
    for each in certified:
        assert isinstance(each.record, ReplicasRecord)
        attack = each.record.certificates[each.variant].attacks[0]
        points = tuple((float(k), share) for k, share in enumerate([*(attack.accuracy or ()), 0.0]))
        lines.append(Line(each.name, points, stairs=True, style=each.style))
    return Chart(
        key="all-certified",
        title="Certified accuracy against k",
        x="k",
        y="right and certified",
        percent=True,
        promise="at least",
        lines=tuple(lines),
        rest=0.0,
        notes=(f"Not in this chart: {', '.join(others)} (nothing is certified).",) if others else (),
    )


def _different(experiments: Mapping[str, dict[str, Any]]) -> Table | None:
    """The keys of the experiments in which they differ."""
    varying = differing_keys(list(experiments.values()))
    if not varying:
        return None
    return Table(
        caption="What is different in their experiment files",
        columns=[Column("key"), *map(Column, experiments)],
        rows=[
            [Cell(key), *(Cell("" if value is None else str(value)) for value in values)]
            for key, values in varying.items()
        ],
    )


def _notes(trainings: Sequence[ComparedTraining]) -> Iterator[str]:
    if any(each.guarantee is None for each in trainings):
        yield "A dash under ε: no guarantee about privacy, or nothing is released yet."
    if any(isinstance(each.record, ReplicasRecord) for each in trainings):
        yield "Of many trainings, accuracy is their mean, and ε is of one that is released alone."
    if len({each.record.manifest.data.digest for each in trainings}) > 1:
        yield "These runs do not have the same data and the same users: compare them with care."
    caveats = {each.run: each.record.manifest.all_caveats for each in trainings if each.guarantee}
    yield from (f"{run}: {caveat}." for run, caveat in caveats.items() if caveat)
    yield (
        "Each ε is of one run alone. Releasing the models of several, or the best of them, spends more than "
        "any row says."
    )
    if any(isinstance(each.record, RunRecord) for each in trainings):
        yield "A single run is one draw of chance: fedward replicas gives intervals."
