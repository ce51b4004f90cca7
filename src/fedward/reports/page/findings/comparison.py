"""Runs side by side: one row each, their curves in one picture, and what is different about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fedward.attacks.adaptive import untried
from fedward.config.tried_defence import MARK, MEANING, tried_defence
from fedward.privacy import Guarantee
from fedward.reports.numbers import percent
from fedward.reports.page.charts.chart import Chart, Line
from fedward.reports.page.charts.run_charts import curve
from fedward.reports.page.charts.tables import Cell, Column, Table, bound_cell, share_cell
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.catalogue.facts import differing_keys
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord

# Whether a column is of numbers.
_COLUMNS = {"run": False, "algorithm": False, "accuracy": True, "attack success": True}
_COLUMNS |= {"ε": True, "δ": True, "rounds": True, "state": False}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What the page says about all runs together."""

    table: Table
    charts: tuple[Chart, ...]
    different: Table | None
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Training:
    """What has a row of its own: a run, or a variant of one. Without a guarantee nothing is guaranteed, or
    nothing is released yet."""

    run: str
    record: Record
    variant: str = "all"
    experiment: dict[str, Any]
    guarantee: Guarantee | None

    @property
    def name(self) -> str:
        return self.run if self.variant == "all" else f"{self.run}: {self.variant}"


def _trainings(run: str, record: Record) -> Iterator[_Training]:
    if not isinstance(record, ReplicasRecord):
        own = record.guarantee()
        known = own if own is not None and own.private else None
        yield _Training(run=run, record=record, experiment=record.experiment, guarantee=known)
        return
    for variant, experiment in record.experiments.items():
        one = record.one_training(variant)
        known = one if one.proven else None
        yield _Training(run=run, record=record, variant=variant, experiment=experiment, guarantee=known)


def compare_runs(records: Mapping[str, Record]) -> Comparison:
    """The runs, by the names that they have in the page."""
    trainings = [each for name, record in records.items() for each in _trainings(name, record)]
    marks = untried([tried_defence(each.experiment) for each in trainings])
    rows = [_row(each, mark) for each, mark in zip(trainings, marks, strict=True)]
    runs = {name: record for name, record in records.items() if isinstance(record, RunRecord)}
    attacked = any(row["attack success"].value is not None for row in rows)
    columns = [name for name in _COLUMNS if attacked or name != "attack success"]
    return Comparison(
        table=Table(
            caption="Every run in a row",
            columns=[Column(name, number=_COLUMNS[name]) for name in columns],
            rows=[[row[name] for name in columns] for row in rows],
        ),
        charts=tuple(chart for chart in _charts(runs) if len(chart.lines) > 1),
        different=_different({each.name: each.experiment for each in trainings}),
        notes=(*([f"{MEANING}."] if attacked and any(marks) else []), *_notes(trainings)),
    )


def _row(each: _Training, untried: bool) -> dict[str, Cell]:
    record, planned = each.record, each.experiment["rounds"]
    rounds, accuracy, success, of = Cell(str(planned), planned), None, None, ""
    if isinstance(record, RunRecord):
        rounds = Cell(f"{record.rounds} of {planned}", record.rounds)
        accuracy, success = record.last.accuracy, record.last.attack_success
        state = "finished" if record.finished else "not finished"
    elif isinstance(record, InferenceRecord):
        accuracy = None if record.result is None else record.result.accuracy
        state = f"{record.kind}, not finished"
        if record.best is not None:
            state = f"{record.kind}: AUC {percent(record.attacks[record.best].auc.value)}"
    elif isinstance(record, AuditRecord):
        accuracy, state = None, "audit, not finished"
        if record.result is not None:
            state = f"audit: {record.result.sentence}"
    else:
        values = {} if record.result is None else record.result.variants.get(each.variant, {})
        accuracy = values["accuracy"].mean if "accuracy" in values else None
        successes = [mean.value for key, mean in values.items() if key.startswith("success.")]
        success = sum(successes) / len(successes) if successes else None
        of, trainings = " (one training)", f"{record.replicas} trainings"
        state = f"mean of {trainings}" if record.finished else f"{trainings} so far"
    guarantee = each.guarantee
    return {
        "run": Cell(each.name),
        "algorithm": Cell(str(each.experiment["algorithm"].get("preset", "?"))),
        "accuracy": share_cell(accuracy),
        "attack success": _marked(share_cell(success)) if untried else share_cell(success),
        "ε": Cell("no guarantee") if guarantee is None else bound_cell(guarantee.epsilon, of),
        "δ": Cell("") if guarantee is None else bound_cell(guarantee.delta),
        "rounds": rounds,
        "state": Cell(state),
    }


def _marked(cell: Cell) -> Cell:
    return cell if cell.value is None else replace(cell, text=f"{cell.text} {MARK}")


def _charts(runs: Mapping[str, RunRecord]) -> Iterator[Chart]:
    for measure in ("accuracy", "attack_success"):
        lines = [Line(name, curve(run, measure)) for name, run in runs.items()]
        yield Chart(
            key=f"all-{measure.replace('_', '-')}",
            title=f"{measure.replace('_', ' ').capitalize()} over rounds",
            y="share of test examples",
            percent=True,
            lines=tuple(line for line in lines if line.points),
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


def _notes(trainings: Sequence[_Training]) -> Iterator[str]:
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
