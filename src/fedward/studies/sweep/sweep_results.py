"""The results of a sweep: for every combination the mean over its seeds, with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedward.attacks.adaptive import untried
from fedward.base.validate import InvalidValue
from fedward.config.sweep_section import Point, Sweep
from fedward.config.tried_defence import tried_defence
from fedward.privacy import Guarantee
from fedward.rundir.results import Mean, TrainingResult
from fedward.rundir.store import RunDirectory
from fedward.rundir.sweep_record import place_of_weakest

MEASURES = {"accuracy": "accuracy", "attack_success": "attack success", "attack_cost": "attack cost"}
"""The quantities that are averaged, each by its name in ``result.json`` and in words."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One combination.

    Args:
      labels: for every axis its value, in words.
      values: for every axis its value; None for tables.
      seeds: of its trainings.
      rounds: of each of them; a budget may have ended some.
      guarantee: of the training with the largest ε, or one that has none.
      statement: the same in words.
      measures: accuracy and, under attack, what the attack achieved; empty without test examples.
      directories: of its runs.
      untried: whether nobody in the sweep attacked its defence knowing it.
    """

    labels: dict[str, str]
    values: dict[str, Any]
    seeds: tuple[int, ...]
    rounds: tuple[int, ...]
    guarantee: Guarantee
    statement: str
    measures: dict[str, Mean]
    directories: tuple[str, ...]
    untried: bool = False

    @property
    def name(self) -> str:
        return ", ".join(f"{axis}={label}" for axis, label in self.labels.items()) or "all"


def read_rows(sweep: Sweep, path: Path) -> list[Row]:
    """Reads the finished runs of a sweep, in the order of its combinations."""
    together: dict[str, list[Point]] = {}
    for point in sweep.points:
        together.setdefault(point.combination, []).append(point)
    tried = [tried_defence(points[0].experiment.model_dump(mode="json")) for points in together.values()]
    return [_row(*each, path) for each in zip(together.values(), untried(tried), strict=True)]


def _row(points: Sequence[Point], untried_by_any: bool, path: Path) -> Row:
    found = []
    for point in points:
        result = RunDirectory(path / point.directory).result()
        if not isinstance(result, TrainingResult):
            raise InvalidValue(f"{path / point.directory} holds no finished run")
        found.append(result)
    place = place_of_weakest(found)
    measures = {}
    for key in MEASURES:
        numbers = [getattr(each, key) for each in found if getattr(each, key) is not None]
        if len(numbers) == len(found):
            measures[key] = Mean.of(numbers, most=math.inf if key == "attack_cost" else 1.0)
    return Row(
        labels=dict(points[0].labels),
        values=dict(points[0].values),
        seeds=tuple(point.seed for point in points),
        rounds=tuple(each.rounds for each in found),
        guarantee=found[place].guarantee,
        statement=found[place].statement,
        measures=measures,
        directories=tuple(point.directory for point in points),
        untried=untried_by_any,
    )
