"""What an experiment of arenas trains, publishes and prints, for each of its files."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import fedward
from fedward.rundir.arena_record import ArenaAbout, ArenaRecord, CellResult, Standing, Worst
from fedward.rundir.results import Mean
from published import Place
from support import markdown, put_between

TRIGGERED = "success"
"""Of the table of backdoors; the other is of accuracy."""


def add_options(made: argparse.ArgumentParser, files: Sequence[str]) -> None:
    """The options of an experiment of arenas."""
    made.add_argument("--only", choices=files, help="one file; all of them if not given")
    made.add_argument("--seeds", type=int, help="how many; as many as the file says if not given")
    made.add_argument("--show", action="store_true", help="only print what was published")


def carry_out(place: Place, names: Sequence[str], chosen: argparse.Namespace) -> None:
    """Trains what is missing of each file, or goes on with it, and writes its records for publishing."""
    for name in names:
        found = fedward.arena(
            place.here / f"{name}.toml",
            seeds=chosen.seeds,
            out=place.file(name),
            data=chosen.data,
            trust=True,
        )
        assert found is not None
        for kept in ("json", "csv", "png"):
            shutil.copyfile(found.path / f"arena.{kept}", place.file(f"{name}.{kept}"))


def print_tables(place: Place, names: Sequence[str]) -> None:
    """Prints the tables of each file, and renews them in the page where its records are published."""
    for name in names:
        record = read(place.records(f"{name}.json"))
        for mark, lines in tables(record).items():
            print("\n".join((f"{name}, {mark}", *lines)))
            if place.publishes:
                put_between(place.here / "README.md", f"{name}, {mark}", lines)


def read(file: Path) -> ArenaRecord:
    """A published record, without the trainings that it was made from."""
    table = json.loads(file.read_text(encoding="utf8"))
    return ArenaRecord(
        path=file.parent,
        about=ArenaAbout.model_validate(table["about"]),
        cells=tuple(CellResult.model_validate(each) for each in table["cells"]),
        standings=tuple(Standing.model_validate(each) for each in table["standings"]),
        seconds={},
    )


def tables(record: ArenaRecord) -> dict[str, list[str]]:
    """What stands between two comments of a page, by the words of these."""
    attacks = [each.name for each in record.about.attacks[1:]]
    planted = [name for name in attacks if any(_has_success(each, name) for each in record.cells)]
    spoiling = [name for name in attacks if name not in planted]
    return {
        "worst": worst_cases(record),
        "accuracy": matrix(record, [record.about.attacks[0].name, *spoiling], "accuracy"),
        TRIGGERED: matrix(record, planted, TRIGGERED),
    }


def worst_cases(record: ArenaRecord) -> list[str]:
    """How each defence stands, best first by the success of the worst backdoor."""
    known = [each for each in record.standings if each.worst_success is not None]
    known.sort(key=lambda each: each.worst_success.value if each.worst_success else 0.0)
    rows = [
        (
            f"`{each.defence}`",
            "none" if each.epsilon is None else f"{each.epsilon:.2f}",
            percent(each.accuracy),
            *_worst(each.worst_accuracy),
            *_worst(each.worst_success),
            f"{each.tried} of {each.attacks}",
        )
        for each in known
    ]
    head = (
        "defence",
        "ε",
        "accuracy, no attack",
        "worst accuracy",
        "by",
        "worst success",
        "by",
        "attacks met",
    )
    return markdown(head, rows)


def matrix(record: ArenaRecord, attacks: Sequence[str], measure: str) -> list[str]:
    """Defences down, attacks across: means over seeds, in percent."""
    cells = {(each.defence, each.attack): each for each in record.cells}
    rows = []
    for defence in record.about.defences:
        own = [cells[defence.name, attack] for attack in attacks]
        means = [each.attack_success if measure == TRIGGERED else each.accuracy for each in own]
        rows.append((f"`{defence.name}`", *(percent(mean, "") for mean in means)))
    return markdown(("%", *(f"`{name}`" for name in attacks)), rows)


def percent(mean: Mean | None, unit: str = " %") -> str:
    """A mean with its interval, where it has one; a dash where nothing was trained."""
    if mean is None or mean.mean is None:
        return "-"
    whole = f"{100 * mean.mean:.1f}{unit}"
    if mean.low is None or mean.high is None or not unit:
        return whole
    return f"{whole} ({100 * mean.low:.1f} to {100 * mean.high:.1f})"


def _worst(worst: Worst | None) -> tuple[str, str]:
    if worst is None:
        return "-", "-"
    return percent(Mean(mean=worst.value, low=worst.low, high=worst.high)), f"`{worst.attack}`"


def _has_success(cell: CellResult, attack: str) -> bool:
    return cell.attack == attack and cell.attack_success is not None
