"""A sweep as a table: on the terminal, as CSV and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from fedward.base.table_rows import csv_lines
from fedward.config.sweep_section import Sweep
from fedward.config.tried_defence import MARK, MEANING
from fedward.privacy.rounding import round_up_digits
from fedward.reports.templates import lines
from fedward.reports.terminal.console import say
from fedward.reports.terminal.console import table as table_of
from fedward.reports.terminal.epsilon_about import common_lines, differing_columns
from fedward.rundir.results import Mean
from fedward.rundir.sweep_record import ABOUT, guarantee_columns
from fedward.studies.sweep.sweep_results import MEASURES, Row


def heading(console: Console, sweep: Sweep, path: Path) -> None:
    """What is going to be run, before it is."""
    say(console, *lines("terminal/sweep_heading.txt", sweep=sweep, path=path))


def table(console: Console, rows: Sequence[Row]) -> None:
    """One line for each combination; the attack's cost is in the files."""
    measures = [key for key in known_measures(rows) if key != "attack_cost"]
    axes = list(rows[0].labels)
    differ = len({each for row in rows for each in row.rounds}) > 1
    guarantees = [row.guarantee for row in rows]
    about = differing_columns(guarantees)
    headings = [*axes, *(["rounds"] if differ else []), "ε", *about, *(MEASURES[key] for key in measures)]
    cells = []
    for row, *own in zip(rows, *about.values(), strict=True):
        rounds = [_rounds(row.rounds)] if differ else []
        epsilon = round_up_digits(row.guarantee.epsilon) if row.guarantee.private else "none"
        means = [
            _with_interval(row.measures.get(key)) + (MARK if row.untried and key == "attack_success" else "")
            for key in measures
        ]
        cells.append([*row.labels.values(), *rounds, epsilon, *own, *means])
    found = table_of(headings, cells, left=len(axes))
    for column, axis in zip(found.columns, axes, strict=False):
        column.min_width = max(len(row.labels[axis]) for row in rows)
        column.overflow = "fold"
    for column in found.columns[len(axes) :]:
        column.no_wrap = True
    console.print(found)
    seeds = len(rows[0].seeds)
    if seeds > 1:
        console.print(f"means over {seeds} seeds, with 95 % intervals of the mean", highlight=False)
    say(console, *common_lines(guarantees))
    if "attack_success" in measures and any(row.untried for row in rows):
        say(console, MEANING)
    # Whoever takes the best of many has seen all of them.
    if any(each.private for each in guarantees):
        say(console, "each ε is that of one training alone: choosing the best of them is not covered by it")


def known_measures(rows: Sequence[Row]) -> list[str]:
    """What is known of at least one combination."""
    return [key for key in MEASURES if any(key in row.measures for row in rows)]


def to_csv(rows: Sequence[Row]) -> str:
    """One line for each combination, with plain numbers."""
    measures = known_measures(rows)
    numbers = [name for key in measures for name in (key, f"{key}_low", f"{key}_high")]
    marked = ["untried"] if "attack_success" in measures else []
    columns = [*rows[0].labels, "seeds", "rounds", *ABOUT, "statement", *numbers, *marked]
    cells = []
    for row in rows:
        found: list[Any] = []
        for key in measures:
            mean = row.measures.get(key)
            found += ["", "", ""] if mean is None else [mean.mean, mean.low, mean.high]
        fewest = min(row.rounds)
        about = [*guarantee_columns(row.guarantee).values(), row.statement]
        cells.append(
            [*row.labels.values(), len(row.seeds), fewest, *about, *found, *([row.untried] if marked else [])]
        )
    return csv_lines(columns, cells)


def record(rows: Sequence[Row]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "combinations": [
            {
                "name": row.name,
                "labels": row.labels,
                "values": row.values,
                "seeds": list(row.seeds),
                "rounds": list(row.rounds),
                **guarantee_columns(row.guarantee),
                "statement": row.statement,
                "untried": row.untried,
                **{key: mean.to_json() for key, mean in row.measures.items()},
                "runs": list(row.directories),
            }
            for row in rows
        ]
    }


def _rounds(rounds: Sequence[int]) -> str:
    return f"{rounds[0]:,}" if len(set(rounds)) == 1 else f"{min(rounds):,} to {max(rounds):,}"


def _with_interval(mean: Mean | None) -> str:
    """
    >>> _with_interval(Mean(mean=0.9, low=0.85, high=0.95))
    '90.0 % (85.0 to 95.0)'
    """
    if mean is None:
        return ""
    low, high = mean.low, mean.high
    between = "" if low is None or high is None else f" ({100 * low:.1f} to {100 * high:.1f})"
    return f"{100 * mean.value:.1f} %{between}"
