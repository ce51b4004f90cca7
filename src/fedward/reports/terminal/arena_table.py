"""An arena as tables on the terminal: its cells, and how each defence stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from fedward.reports.arena_words import (
    epsilon_words,
    mean_words,
    notes,
    rank_words,
    refused_words,
    seconds_of,
    seconds_words,
    state_of,
    tried_words,
    worst_words,
)
from fedward.reports.templates import lines
from fedward.reports.terminal.console import say
from fedward.reports.terminal.console import table as table_of
from fedward.rundir.arena_record import ArenaRecord, ArenaTable, Standing
from fedward.studies.arena.arena_study import ArenaStudy


def heading(console: Console, study: ArenaStudy, path: Path) -> None:
    """What is going to be trained, and what is refused, before anything is."""
    about = study.about
    say(console, *lines("terminal/arena_heading.txt", about=about, chosen=len(study.chosen), path=path))
    say(console, *map(refused_words, about.refused))


def table(console: Console, record: ArenaRecord) -> None:
    """One line for each cell, then one for each defence, then what a reader must know."""
    several = len(record.about.data) > 1
    _print(console, [*(["data"] if several else []), "defence", "attack"], *_cells(record, several))
    _print(console, [*(["data"] if several else []), "defence"], *_accuracies(record, several))
    _print(console, [*(["data"] if several else []), "defence"], *_successes(record, several))
    say(console, *notes(record))


def _print(
    console: Console, left: Sequence[str], headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    # A column that says nothing takes no room.
    used = [place for place in range(len(left), len(rows[0])) if any(row[place] for row in rows)]
    places = [*range(len(left)), *used]
    names = [*left, *headings]
    found = table_of(
        [names[place] for place in places], [[row[place] for place in places] for row in rows], left=len(left)
    )
    for column in found.columns[: len(left)]:
        column.overflow = "fold"
    console.print(found)


def _cells(record: ArenaRecord, several: bool) -> tuple[list[str], list[list[str]]]:
    rows = []
    for cell in record.cells:
        sides = [*([cell.data] if several else []), cell.defence, cell.attack]
        means = [mean_words(each) for each in (cell.accuracy, cell.attack_success, cell.lost)]
        rows.append([*sides, *means, state_of(cell, record.about)])
    return ["accuracy", "attack success", "accuracy lost to the attack", "state"], rows


def _accuracies(record: ArenaRecord, several: bool) -> tuple[list[str], list[list[str]]]:
    rows = [
        [
            *_sides(each, several),
            epsilon_words(each.epsilon) if each.statement else "",
            mean_words(each.accuracy),
            mean_words(each.behind_plain),
            worst_words(each.worst_accuracy),
            rank_words(each.worst_accuracy),
        ]
        for each in record.standings
    ]
    return ["ε", "accuracy, no attack", "behind plain averaging", "worst accuracy", "rank"], rows


def _successes(record: ArenaRecord, several: bool) -> tuple[list[str], list[list[str]]]:
    rows = [
        [
            *_sides(each, several),
            worst_words(each.worst_success),
            rank_words(each.worst_success),
            tried_words(each),
            seconds_words(seconds_of(record, each)),
        ]
        for each in record.standings
    ]
    return ["worst attack success", "rank", "attacks met", "seconds a round"], rows


def _sides(standing: Standing, several: bool) -> list[str]:
    return [*([standing.data] if several else []), standing.defence]


def record(found: ArenaRecord) -> dict[str, Any]:
    """The same for programs: as ``arena.json`` has it, and how long rounds took."""
    table = ArenaTable(about=found.about, cells=list(found.cells), standings=list(found.standings))
    return {**table.to_json(), "seconds": {name: each.to_json() for name, each in found.seconds.items()}}
