"""Runs side by side: one row each, their curves in one picture, and what is different about them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fedward.report.numbers import at_most_figure, percent
from fedward.report.page.chart import Chart, Line
from fedward.report.page.run_charts import curve
from fedward.report.page.tables import Cell, Column, Table
from fedward.rundir.catalogue.facts import flat
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord
from fedward.rundir.weights_origin import caveat_of

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What the page says about all runs together."""

    table: Table
    charts: tuple[Chart, ...]
    different: Table | None
    notes: tuple[str, ...]


def compared(records: Mapping[str, Record]) -> Comparison:
    """The runs, by the names that they have in the page."""
    rows = [row for name, record in records.items() for row in _rows(name, record)]
    runs = {name: record for name, record in records.items() if isinstance(record, RunRecord)}
    attacked = any(row[3].value is not None for row in rows)
    columns = [
        Column("run"),
        Column("algorithm"),
        Column("accuracy", number=True),
        Column("attack success", number=True),
        Column("ε", number=True),
        Column("δ", number=True),
        Column("rounds", number=True),
        Column("state"),
    ]
    if not attacked:
        columns, rows = _without_attack(columns), [_without_attack(row) for row in rows]
    return Comparison(
        table=Table(caption="Every run in a row", columns=columns, rows=rows),
        charts=tuple(chart for chart in _charts(runs) if len(chart.lines) > 1),
        different=_different(records),
        notes=tuple(_notes(records)),
    )


def _without_attack(row: list[T]) -> list[T]:
    """A row without the column on attacks."""
    return [*row[:3], *row[4:]]


def _rows(name: str, record: Record) -> Iterator[list[Cell]]:
    if isinstance(record, RunRecord):
        last, guarantee = record.last, record.guarantee()
        private = guarantee is not None and guarantee.private
        yield [
            Cell(name),
            Cell(_algorithm(record.experiment)),
            _share(last.get("accuracy")),
            _share(last.get("attack_success")),
            Cell(at_most_figure(guarantee.epsilon), guarantee.epsilon)
            if private and guarantee is not None
            else Cell("no guarantee"),
            Cell(at_most_figure(guarantee.delta), guarantee.delta)
            if private and guarantee is not None
            else Cell(""),
            Cell(f"{record.rounds} of {record.experiment['rounds']}", record.rounds),
            Cell("finished" if record.finished else "not finished"),
        ]
    elif isinstance(record, InferenceRecord):
        yield _inference_row(name, record)
    else:
        for variant, experiment in record.experiments.items():
            yield _replicas_row(name, record, variant, experiment)


def _replicas_row(name: str, record: ReplicasRecord, variant: str, experiment: dict[str, Any]) -> list[Cell]:
    values = (record.result or {}).get("variants", {}).get(variant, {})
    successes = [each["mean"] for key, each in values.items() if key.startswith("success.")]
    one = record.one_training(variant)
    return [
        Cell(name if variant == "all" else f"{name}: {variant}"),
        Cell(_algorithm(experiment)),
        _share(values["accuracy"]["mean"] if "accuracy" in values else None),
        _share(sum(successes) / len(successes) if successes else None),
        Cell(f"{at_most_figure(one.epsilon)} (one training)", one.epsilon)
        if one.proven
        else Cell("no guarantee"),
        Cell(at_most_figure(one.delta), one.delta) if one.proven else Cell(""),
        Cell(str(experiment["rounds"]), experiment["rounds"]),
        Cell(
            f"mean of {record.replicas} trainings"
            if record.finished
            else f"{record.replicas} trainings so far"
        ),
    ]


def _inference_row(name: str, record: InferenceRecord) -> list[Cell]:
    guarantee = record.guarantee()
    private = guarantee is not None and guarantee.private
    found = f"{record.kind}, not finished"
    if record.best is not None:
        found = f"{record.kind}: AUC {percent(record.attacks[record.best]['auc']['value'])}"
    return [
        Cell(name),
        Cell(_algorithm(record.experiment)),
        _share((record.result or {}).get("accuracy")),
        Cell("", None),
        Cell(at_most_figure(guarantee.epsilon), guarantee.epsilon)
        if private and guarantee is not None
        else Cell("no guarantee"),
        Cell(at_most_figure(guarantee.delta), guarantee.delta)
        if private and guarantee is not None
        else Cell(""),
        Cell(str(record.experiment["rounds"]), record.experiment["rounds"]),
        Cell(found),
    ]


def _share(value: float | None) -> Cell:
    return Cell("", None) if value is None else Cell(percent(value), value)


def _algorithm(experiment: Mapping[str, Any]) -> str:
    return str(experiment["algorithm"].get("preset", "?"))


def _charts(runs: Mapping[str, RunRecord]) -> Iterator[Chart]:
    for measure, title in (
        ("accuracy", "Accuracy over rounds"),
        ("attack_success", "Attack success over rounds"),
    ):
        lines = [Line(name=name, points=curve(run, measure)) for name, run in runs.items()]
        yield Chart(
            key=f"all-{measure.replace('_', '-')}",
            title=title,
            x="round",
            y="share of test examples",
            percent=True,
            lines=tuple(line for line in lines if line.points),
        )


def _different(records: Mapping[str, Record]) -> Table | None:
    """The keys of the experiments in which they differ."""
    found: dict[str, dict[str, Any]] = {}
    for name, record in records.items():
        if not isinstance(record, ReplicasRecord):
            found[name] = dict(flat(record.experiment))
        else:
            for variant, experiment in record.experiments.items():
                found[name if variant == "all" else f"{name}: {variant}"] = dict(flat(experiment))
    keys = list(dict.fromkeys(key for each in found.values() for key in each))
    varying = [key for key in keys if len({json.dumps(each.get(key)) for each in found.values()}) > 1]
    if len(found) < 2 or not varying:
        return None
    return Table(
        caption="What is different in their experiment files",
        columns=[Column("key"), *(Column(name) for name in found)],
        rows=[
            [Cell(key), *(Cell("" if each.get(key) is None else str(each[key])) for each in found.values())]
            for key in varying
        ],
    )


def _private(record: Record) -> bool:
    if isinstance(record, ReplicasRecord):
        return any(record.one_training(variant).proven for variant in record.experiments)
    guarantee = record.guarantee()
    return guarantee is not None and guarantee.private


def _notes(records: Mapping[str, Record]) -> Iterator[str]:
    data = {str(record.manifest.get("data", {}).get("digest")) for record in records.values()}
    if len(data) > 1:
        yield "These runs do not have the same data and the same users: compare them with care."
    for name, record in records.items():
        if (caveat := caveat_of(record.manifest)) and _private(record):
            yield f"{name}: {caveat}."
    yield (
        "Each ε is of one run alone. Releasing the models of several, or the best of them, spends more than "
        "any row says."
    )
    if any(isinstance(record, RunRecord) for record in records.values()):
        yield "A single run is one draw of chance: fedward replicas gives intervals."
