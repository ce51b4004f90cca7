"""The part of the page that is about an arena: how each defence stands, and a matrix that opens cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from fedward.reports.arena_words import (
    epsilon_words,
    mean_words,
    notes,
    rank_words,
    seconds_of,
    seconds_words,
    state_of,
    tried_words,
    worst_words,
)
from fedward.reports.numbers import percent, thin
from fedward.reports.page.charts.chart import Chart, Line
from fedward.reports.page.charts.run_charts import curve
from fedward.reports.page.charts.tables import Cell, Column, Table, numbers, share_cell
from fedward.reports.templates import fill
from fedward.rundir.arena_record import ArenaRecord, CellResult, Standing, Worst
from fedward.rundir.results import Mean
from fedward.rundir.run_record import RunRecord, load

_MOST_POINTS = 20
# From these shares on a cell is shaded more: of accuracy lost, or of attack success.
_SHADES = (0.05, 0.2, 0.4, 0.7)


@dataclass(frozen=True, kw_only=True)
class Square:
    """One cell in the matrix, and what it opens.

    Args:
      key: its id in the page.
      cell: what was measured.
      state: why it has no numbers, or not all.
      why: it was refused.
      shade: 0 for nothing lost, up to 4.
      lines: what was measured, with intervals, in words.
      chart: its curves; None where there are none.
      runs: each of its trainings.
    """

    key: str
    cell: CellResult
    state: str
    why: str
    shade: int
    lines: tuple[str, ...]
    chart: Chart | None
    runs: Table | None


def arena_part(record: ArenaRecord, key: str, name: str) -> Markup:
    """Everything that the trainings of an arena say."""
    several = len(record.about.data) > 1
    squares = [_square(record, cell, f"{key}-cell-{number}") for number, cell in enumerate(record.cells)]
    width, height = len(record.about.attacks), len(record.about.defences)
    matrices = []
    for number, data in enumerate(record.about.data):
        own = squares[number * width * height : (number + 1) * width * height]
        rows = [own[row * width : (row + 1) * width] for row in range(height)]
        matrices.append((data, f"{key}-matrix-{number}", rows))
    first = next((load(path) for path in record.runs), None)
    return fill(
        "page/kinds/arena.html",
        record=record,
        about=record.about,
        key=key,
        name=name,
        first=first,
        charts=[chart for chart in _charts(record, key) if chart.drawn],
        standings=_standings(record, several),
        matrices=matrices,
        squares=squares,
        notes=notes(record),
        percent=percent,
    )


def _charts(record: ArenaRecord, key: str) -> Iterator[Chart]:
    worst = {
        "worst_success": "success of the worst attack",
        "worst_accuracy": "accuracy under the worst attack",
    }
    for number, data in enumerate(record.about.data):
        own = [each for each in record.standings if each.data == data and each.accuracy is not None]
        for measure, across in worst.items():
            lines = []
            for each in own:
                found: Worst | None = getattr(each, measure)
                points = (
                    () if found is None or each.accuracy is None else ((found.value, each.accuracy.value),)
                )
                label = f" (ε = {epsilon_words(each.epsilon)})" if each.epsilon is not None else ""
                lines.append(Line(each.defence + label, points))
            about = f", {data}" if data else ""
            yield Chart(
                key=f"{key}-{measure.replace('_', '-')}-{number}",
                title=f"Accuracy against {across}{about}",
                x=across,
                y="accuracy, no attack",
                percent=True,
                across="share",
                from_zero=False,
                lines=tuple(lines),
            )


def _standings(record: ArenaRecord, several: bool) -> Table:
    columns = [
        Column("defence"),
        *([Column("data")] if several else []),
        *numbers(
            "ε", "accuracy, no attack", "behind plain averaging", "accuracy under the worst attack", "rank"
        ),
        *numbers("success of the worst attack", "rank", "attacks met", "seconds a round"),
    ]
    rows = [
        [
            Cell(each.defence),
            *([Cell(each.data)] if several else []),
            Cell(epsilon_words(each.epsilon) if each.statement else "", each.epsilon),
            _mean_cell(each.accuracy),
            _mean_cell(each.behind_plain),
            _worst_cell(each.worst_accuracy),
            _rank_cell(each.worst_accuracy),
            _worst_cell(each.worst_success),
            _rank_cell(each.worst_success),
            Cell(tried_words(each), float(each.tried)),
            _seconds_cell(record, each),
        ]
        for each in record.standings
    ]
    return Table(caption="How each defence stands over all attacks", columns=columns, rows=rows)


def _mean_cell(mean: Mean | None) -> Cell:
    return Cell(mean_words(mean), None if mean is None else mean.value)


def _worst_cell(worst: Worst | None) -> Cell:
    return Cell(worst_words(worst), None if worst is None else worst.value)


def _rank_cell(worst: Worst | None) -> Cell:
    ranked = worst is not None and worst.first_rank is not None
    return Cell(rank_words(worst), float(worst.first_rank or 0) if ranked and worst is not None else None)


def _seconds_cell(record: ArenaRecord, standing: Standing) -> Cell:
    seconds = seconds_of(record, standing)
    return Cell(seconds_words(seconds), seconds)


def _square(record: ArenaRecord, cell: CellResult, key: str) -> Square:
    about = record.about
    sides = (cell.data, cell.defence, cell.attack)
    why = next((each.why for each in about.refused if (each.data, each.defence, each.attack) == sides), "")
    runs = [found for name in cell.runs if isinstance(found := load(record.path / name), RunRecord)]
    chart = _curves(runs, key, cell)
    return Square(
        key=key,
        cell=cell,
        state=state_of(cell, about),
        why=why,
        shade=_shade(cell),
        lines=tuple(_lines(cell)),
        chart=chart if chart.drawn else None,
        runs=_runs(cell, runs) if runs else None,
    )


def _shade(cell: CellResult) -> int:
    found = [mean.value for mean in (cell.lost, cell.attack_success) if mean is not None]
    return sum(max(found) >= share for share in _SHADES) if found else 0


def _lines(cell: CellResult) -> Iterator[str]:
    named = {
        "Accuracy": cell.accuracy,
        "Attack success": cell.attack_success,
        "Accuracy lost to the attack (the same defence while nobody attacks, minus this)": cell.lost,
        "Behind plain averaging while nobody attacks": cell.behind_plain,
    }
    yield from (f"{name}: {mean_words(mean)}." for name, mean in named.items() if mean is not None)
    if cell.statement:
        yield f"Privacy: {cell.statement}"


def _curves(runs: Sequence[RunRecord], key: str, cell: CellResult) -> Chart:
    """Means over the seeds; rounds that not all of them have are left out."""
    lines = []
    for name, measure in (("accuracy", "accuracy"), ("attack success", "attack_success")):
        curves = [dict(curve(run, measure)) for run in runs]
        rounds = sorted(set.intersection(*map(set, curves))) if curves else []
        points = [(t, float(np.mean([own[t] for own in curves]))) for t in thin(rounds, _MOST_POINTS)]
        lines.append(Line(name, tuple(points)))
    return Chart(
        key=f"{key}-curves",
        title=f"{cell.defence} under {cell.attack}: over rounds",
        y="share of test examples",
        percent=True,
        lines=tuple(lines),
    )


def _runs(cell: CellResult, runs: Sequence[RunRecord]) -> Table:
    rows = [
        [
            Cell(str(seed), float(seed)),
            share_cell(run.last.accuracy),
            share_cell(run.last.attack_success),
            Cell(f"{run.rounds}", float(run.rounds)),
            Cell(name),
        ]
        for seed, name, run in zip(cell.seeds, cell.runs, runs, strict=True)
    ]
    return Table(
        caption="Its trainings",
        columns=[*numbers("seed", "accuracy", "attack success", "rounds"), Column("run directory")],
        rows=rows,
    )
