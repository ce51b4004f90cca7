"""The table ``[sweep]`` of an experiment file: many experiments in one.

[sweep]
seeds = 5
algorithm.noise_multiplier = [1.0, 2.0, 3.0]
attack.who.count = [0, 5, 10]
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

from fedward.base.validate import InvalidValue, nearest
from fedward.config.experiment import Experiment, from_content
from fedward.config.sweep_axis import SweepAxis

_MOST = 10_000
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.=,+-]+")
_LONGEST_NAME = 120


@dataclass(frozen=True, kw_only=True)
class Point:
    """One training of a sweep.

    Args:
      labels: for every axis the value it has here, in words.
      values: for every axis the value itself; None for a table.
      seed: of this training.
      experiment: that training.
    """

    labels: Mapping[str, str]
    values: Mapping[str, Any]
    seed: int
    experiment: Experiment

    @property
    def combination(self) -> str:
        """Its name without the seed: trainings of one combination are averaged."""
        return _combination(self.labels) or "all"

    @property
    def directory(self) -> str:
        """A name for its run directory."""
        name = _NOT_IN_NAMES.sub("_", self.combination.replace(", ", ","))
        return f"{name[:_LONGEST_NAME]},seed={self.seed}"


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """All trainings, and what they differ in.

    Args:
      axes: in the order of the file.
      seeds: one training of every combination for each.
      points: all combinations with the first seed, then with the next.
    """

    axes: tuple[SweepAxis, ...]
    seeds: tuple[int, ...]
    points: tuple[Point, ...]


def read_sweep(content: Mapping[str, Any], source: str = "experiment") -> Sweep:
    """Makes every experiment of a file with a ``[sweep]``; all that is wrong is said at once."""
    base = dict(content)
    table = base.pop("sweep", None)
    if not isinstance(table, dict) or not table:
        alone = "; add it, or run the one experiment with fedward run"
        got = f"{table!r:.100}" if "sweep" in content else f"none{meant_key(base, 'sweep') or alone}"
        raise InvalidValue(
            f"{source} must have a table [sweep] with seeds, or keys and lists of values, got {got}"
        )
    problems = Problems()
    seeds: tuple[int, ...] = ()
    axes: list[SweepAxis] = []
    with problems.collect():
        seeds = read_seeds(table.get("seeds", 1), base.get("seed"))
    for key, values in _flat({key: value for key, value in table.items() if key != "seeds"}):
        with problems.collect():
            axes.append(SweepAxis.of(key, values))
    if not problems:
        problems.update((text, text) for text in _clashes([axis.key for axis in axes]))
    problems.raise_all(f"{source}, [sweep]")
    size = len(seeds) * math.prod(len(axis.values) for axis in axes)
    if size > _MOST:
        raise InvalidValue(f"{source}, [sweep]: it must have at most {_MOST:,} trainings, got {size:,}")
    points = list(_points(base, axes, seeds, source, problems))
    problems.raise_all(f"{source} with its [sweep] is not valid")
    check_directories(points, source)
    return Sweep(axes=tuple(axes), seeds=seeds, points=tuple(points))


class Problems(dict[str, str]):
    """All that is wrong with a file, each thing once, and how it is said."""

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Takes note of what is refused, and goes on."""
        try:
            yield
        except InvalidValue as error:
            self[str(error)] = str(error)

    def raise_all(self, title: str) -> None:
        """Says the first ten, if there are any."""
        if self:
            more = [f"... and {len(self) - 10} more"] if len(self) > 10 else []
            raise InvalidValue("\n  ".join([f"{title}:", *list(self.values())[:10], *more]))


def meant_key(content: Mapping[str, Any], wanted: str) -> str:
    """The first key that may be a misspelt one, as a hint; empty if there is none."""
    unknown = [key for key in content if key not in Experiment.model_fields]
    return next((f", but {key!r}{hint}" for key in unknown if (hint := nearest(key, [wanted]))), "")


def _points(
    base: dict[str, Any], axes: list[SweepAxis], seeds: tuple[int, ...], source: str, problems: Problems
) -> Iterator[Point]:
    names = _short_names([axis.key for axis in axes])
    for seed, *places in product(seeds, *(range(len(axis.values)) for axis in axes)):
        changed: dict[str, Any] = {**base, "seed": seed}
        chosen = list(zip(names, axes, places, strict=True))
        labels = {name: axis.labels[place] for name, axis, place in chosen}
        try:
            for _, axis, place in chosen:
                changed = axis.put(changed, place)
            experiment = from_content(changed, source)
        except InvalidValue as error:
            where = f" (with {_combination(labels)})" if labels else ""
            text = str(error).removeprefix(f"{source} is not a valid experiment:").strip()
            for line in map(str.strip, text.splitlines()):
                # What is wrong with all of them is said of the first.
                problems.setdefault(line, f"{line}{where}")
            continue
        values = {name: axis.plain[place] for name, axis, place in chosen}
        yield Point(labels=labels, values=values, seed=seed, experiment=experiment)


def _combination(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{axis}={label}" for axis, label in labels.items())


def read_seeds(given: Any, first: Any) -> tuple[int, ...]:
    """The seeds of a file: so many from its own on, or those that are listed."""
    if _is_whole(given) and 1 <= given <= _MOST:
        # A file without a proper seed is told so by the check of the whole.
        start = first if _is_whole(first) and first >= 0 else 0
        return tuple(range(start, start + given))
    listed = given if isinstance(given, list) else []
    if listed and all(_is_whole(seed) and seed >= 0 for seed in listed) and len(set(listed)) == len(listed):
        return tuple(listed)
    raise InvalidValue(
        f"seeds must be how many from the file's own on, 1 to {_MOST:,}, or a list of different ones, "
        f"got {given!r:.100}"
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys, quoted or not: TOML makes tables of those that are not."""
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _short_names(keys: list[str]) -> list[str]:
    """The last word of each key, where that says which it is.

    >>> _short_names(["algorithm.noise_multiplier", "attack.who.count"]), _short_names(["a.x", "b.x"])
    (['noise_multiplier', 'count'], ['a.x', 'b.x'])
    """
    short = [key.rpartition(".")[2] for key in keys]
    return short if len(set(short)) == len(short) and not any(map(str.isdecimal, short)) else keys


def _clashes(keys: list[str]) -> Iterator[str]:
    for number, key in enumerate(keys):
        if key in keys[:number]:
            yield f"{key} is there twice"
        if key == "seed" or key.startswith("seeds"):
            yield f"{key} must be written as seeds = N or seeds = [1, 2, 3]{nearest(key, ['seeds'])}"


def check_directories(points: Sequence[Point], source: str) -> None:
    """Raises if two trainings would have one directory."""
    seen: dict[str, Point] = {}
    for point in points:
        other = seen.setdefault(point.directory, point)
        if other is not point:
            raise InvalidValue(
                f"{source}: {other.combination} and {point.combination} would have one directory; "
                "give them different labels"
            )
