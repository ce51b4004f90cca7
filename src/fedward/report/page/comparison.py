"""Runs side by side: one row each, their curves in one picture, and what is different about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fedward.privacy import Guarantee
from fedward.report.numbers import percent
from fedward.report.page.chart import Chart, Line
from fedward.report.page.experiment_text import differing
from fedward.report.page.run_charts import curve
from fedward.report.page.tables import Cell, Column, Table, numbers, promised, share
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord
from fedward.rundir.weights_origin import caveat_of

_ATTACK = 3
"""The column about attacks, which is left out where nobody attacks."""


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
    columns = [Column("run"), Column("algorithm")]
    columns += numbers("accuracy", "attack success", "ε", "δ", "rounds")
    columns.append(Column("state"))
    if all(row[_ATTACK].value is None for row in rows):
        del columns[_ATTACK]
        for row in rows:
            del row[_ATTACK]
    return Comparison(
        table=Table(caption="Every run in a row", columns=columns, rows=rows),
        charts=tuple(chart for chart in _charts(runs) if len(chart.lines) > 1),
        different=_different(records),
        notes=tuple(_notes(records)),
    )


def _rows(name: str, record: Record) -> Iterator[list[Cell]]:
    if isinstance(record, RunRecord):
        last, state = record.last, "finished" if record.finished else "not finished"
        rounds = Cell(f"{record.rounds} of {record.experiment['rounds']}", record.rounds)
        row = _row(name, record.experiment, last.get("accuracy"), state, guarantee=_guarantee(record))
        row[_ATTACK], row[-2] = share(last.get("attack_success")), rounds
        yield row
    elif isinstance(record, InferenceRecord):
        state = f"{record.kind}, not finished"
        if record.best is not None:
            state = f"{record.kind}: AUC {percent(record.attacks[record.best]['auc']['value'])}"
        accuracy = (record.result or {}).get("accuracy")
        yield _row(name, record.experiment, accuracy, state, guarantee=_guarantee(record))
    else:
        trainings = f"{record.replicas} trainings"
        state = f"mean of {trainings}" if record.finished else f"{trainings} so far"
        for variant, experiment in record.experiments.items():
            values = (record.result or {}).get("variants", {}).get(variant, {})
            accuracy, one = values.get("accuracy", {}).get("mean"), record.one_training(variant)
            successes = [each["mean"] for key, each in values.items() if key.startswith("success.")]
            guarantee, of = one if one.proven else None, " (one training)"
            row = _row(_name(name, variant), experiment, accuracy, state, guarantee, of)
            row[_ATTACK] = share(sum(successes) / len(successes) if successes else None)
            yield row


def _row(
    name: str,
    experiment: Mapping[str, Any],
    accuracy: float | None,
    state: str,
    guarantee: Guarantee | None,
    of: str = "",
) -> list[Cell]:
    """A row about a run that nobody attacks and that has all of its rounds."""
    epsilon, delta = (None, None) if guarantee is None else (guarantee.epsilon, guarantee.delta)
    return [
        Cell(name),
        Cell(str(experiment["algorithm"].get("preset", "?"))),
        share(accuracy),
        share(None),
        promised(epsilon, of, none="no guarantee"),
        promised(delta),
        Cell(str(experiment["rounds"]), experiment["rounds"]),
        Cell(state),
    ]


def _name(name: str, variant: str) -> str:
    return name if variant == "all" else f"{name}: {variant}"


def _guarantee(record: RunRecord | InferenceRecord) -> Guarantee | None:
    """What is guaranteed; None if nothing is, or nothing is released yet."""
    guarantee = record.guarantee()
    return guarantee if guarantee is not None and guarantee.private else None


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


def _different(records: Mapping[str, Record]) -> Table | None:
    """The keys of the experiments in which they differ."""
    experiments = {
        _name(name, variant): experiment
        for name, record in records.items()
        for variant, experiment in (
            record.experiments if isinstance(record, ReplicasRecord) else {"all": record.experiment}
        ).items()
    }
    varying = differing(list(experiments.values()))
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


def _private(record: Record) -> bool:
    if isinstance(record, ReplicasRecord):
        return any(record.one_training(variant).proven for variant in record.experiments)
    return _guarantee(record) is not None
