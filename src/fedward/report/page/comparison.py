"""Runs side by side: one row each, their curves in one picture, and what is different about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fedward.privacy import Guarantee
from fedward.report.numbers import percent
from fedward.report.page.chart import Chart, Line
from fedward.report.page.experiment_text import differing_keys
from fedward.report.page.run_charts import curve
from fedward.report.page.tables import Cell, Column, Table, bound_cell, share_cell
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


def compare_runs(records: Mapping[str, Record]) -> Comparison:
    """The runs, by the names that they have in the page."""
    rows = [row for name, record in records.items() for row in _rows(name, record)]
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
        different=_different(records),
        notes=tuple(_notes(records)),
    )


def _rows(name: str, record: Record) -> Iterator[dict[str, Cell]]:
    if isinstance(record, RunRecord):
        last, state = record.last, "finished" if record.finished else "not finished"
        rounds = Cell(f"{record.rounds} of {record.experiment['rounds']}", record.rounds)
        row = _row(name, record.experiment, last.accuracy, state, _guarantee(record))
        yield row | {"attack success": share_cell(last.attack_success), "rounds": rounds}
    elif isinstance(record, InferenceRecord):
        state = f"{record.kind}, not finished"
        if record.best is not None:
            state = f"{record.kind}: AUC {percent(record.attacks[record.best].auc.value)}"
        accuracy = None if record.result is None else record.result.accuracy
        yield _row(name, record.experiment, accuracy, state, _guarantee(record))
    else:
        trainings = f"{record.replicas} trainings"
        state = f"mean of {trainings}" if record.finished else f"{trainings} so far"
        for variant, experiment in record.experiments.items():
            values = {} if record.result is None else record.result.variants.get(variant, {})
            accuracy = values["accuracy"].mean if "accuracy" in values else None
            one = record.one_training(variant)
            successes = [each.value for key, each in values.items() if key.startswith("success.")]
            guarantee, of = one if one.proven else None, " (one training)"
            success = share_cell(sum(successes) / len(successes) if successes else None)
            row = _row(_name(name, variant), experiment, accuracy, state, guarantee, of)
            yield row | {"attack success": success}


def _row(
    name: str,
    experiment: Mapping[str, Any],
    accuracy: float | None,
    state: str,
    guarantee: Guarantee | None,
    of: str = "",
) -> dict[str, Cell]:
    """A row about a run that nobody attacks and that has all of its rounds."""
    epsilon, delta = (None, None) if guarantee is None else (guarantee.epsilon, guarantee.delta)
    return {
        "run": Cell(name),
        "algorithm": Cell(str(experiment["algorithm"].get("preset", "?"))),
        "accuracy": share_cell(accuracy),
        "attack success": share_cell(None),
        "ε": bound_cell(epsilon, of, none="no guarantee"),
        "δ": bound_cell(delta),
        "rounds": Cell(str(experiment["rounds"]), experiment["rounds"]),
        "state": Cell(state),
    }


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


def _notes(records: Mapping[str, Record]) -> Iterator[str]:
    data = {record.manifest.data.digest for record in records.values()}
    if len(data) > 1:
        yield "These runs do not have the same data and the same users: compare them with care."
    for name, record in records.items():
        if (caveat := record.manifest.all_caveats) and _private(record):
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
