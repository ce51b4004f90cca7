"""The table ``[sweep]`` of an experiment file: many experiments in one.

[sweep]
seeds = 5
algorithm.noise_multiplier = [1.0, 2.0, 3.0]
attack.who.count = [0, 5, 10]
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
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
        return ", ".join(f"{axis}={label}" for axis, label in self.labels.items()) or "all"

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
        got = f"{table!r:.100}" if "sweep" in content else f"none{_meant(base)}"
        raise InvalidValue(
            f"{source} must have a table [sweep] with seeds, or keys and lists of values, got {got}"
        )
    rest = dict(table)
    given = rest.pop("seeds", 1)
    problems: list[str] = []
    seeds = _collected(problems, lambda: _seeds(given, base.get("seed")), ())
    axes = [
        axis
        for key, values in _flat(rest)
        if (axis := _collected(problems, lambda key=key, values=values: SweepAxis.of(key, values), None))
    ]
    if not problems:
        _distinct(axes, problems)
    if problems:
        raise InvalidValue(_message(f"{source}, [sweep]", problems))
    size = len(seeds) * math.prod(len(axis.values) for axis in axes)
    if size > _MOST:
        raise InvalidValue(f"{source}, [sweep]: it must have at most {_MOST:,} trainings, got {size:,}")
    points = list(_points(base, axes, seeds, source, problems))
    if problems:
        raise InvalidValue(_message(f"{source} with its [sweep] is not valid", problems))
    _check_directories(points, source)
    return Sweep(axes=tuple(axes), seeds=seeds, points=tuple(points))


def _meant(content: Mapping[str, Any]) -> str:
    """The first key that may be a misspelt ``sweep``, as a hint; empty if there is none."""
    unknown = [key for key in content if key not in Experiment.model_fields]
    return next((f", but {key!r}{hint}" for key in unknown if (hint := nearest(key, ["sweep"]))), "")


def _points(
    base: dict[str, Any], axes: list[SweepAxis], seeds: tuple[int, ...], source: str, problems: list[str]
) -> Iterator[Point]:
    names, seen = _short([axis.key for axis in axes]), set[str]()
    for seed in seeds:
        for places in product(*(range(len(axis.values)) for axis in axes)):
            changed: dict[str, Any] = {**base, "seed": seed}
            labels = {name: axis.labels[place] for name, axis, place in zip(names, axes, places, strict=True)}
            try:
                for axis, place in zip(axes, places, strict=True):
                    changed = axis.put(changed, place)
                experiment = from_content(changed, source)
            except InvalidValue as error:
                where = ", ".join(f"{name}={label}" for name, label in labels.items())
                for line in _lines(error, source):
                    # What is wrong with all of them is said of the first.
                    if line not in seen:
                        seen.add(line)
                        problems.append(f"{line} (with {where})" if where else line)
                continue
            values = {name: axis.plain[place] for name, axis, place in zip(names, axes, places, strict=True)}
            yield Point(labels=labels, values=values, seed=seed, experiment=experiment)


def _lines(error: InvalidValue, source: str) -> list[str]:
    text = str(error).removeprefix(f"{source} is not a valid experiment:").strip()
    return [line.strip() for line in text.splitlines()]


def _seeds(given: Any, first: Any) -> tuple[int, ...]:
    whole = isinstance(given, int) and not isinstance(given, bool)
    if whole and 1 <= given <= _MOST:
        # A file without a proper seed is told so by the check of the whole.
        start = first if isinstance(first, int) and not isinstance(first, bool) and first >= 0 else 0
        return tuple(range(start, start + given))
    if (
        isinstance(given, list)
        and given
        and all(isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in given)
        and len(set(given)) == len(given)
    ):
        return tuple(given)
    raise InvalidValue(
        f"seeds must be how many from the file's own on, 1 to {_MOST:,}, or a list of different ones, "
        f"got {given!r:.100}"
    )


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys, quoted or not: TOML makes tables of those that are not."""
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _short(keys: list[str]) -> list[str]:
    """The last word of each key, where that says which it is.

    >>> _short(["algorithm.noise_multiplier", "attack.who.count"]), _short(["a.x", "b.x"])
    (['noise_multiplier', 'count'], ['a.x', 'b.x'])
    """
    short = [key.rpartition(".")[2] for key in keys]
    return short if len(set(short)) == len(short) and not any(map(str.isdecimal, short)) else keys


def _distinct(axes: list[SweepAxis], problems: list[str]) -> None:
    keys = [axis.key for axis in axes]
    for number, key in enumerate(keys):
        if key in keys[:number]:
            problems.append(f"{key} is there twice")
        if key == "seed" or key.startswith("seeds"):
            problems.append(
                f"{key} must be written as seeds = N or seeds = [1, 2, 3]{nearest(key, ['seeds'])}"
            )


def _check_directories(points: list[Point], source: str) -> None:
    seen: dict[str, Point] = {}
    for point in points:
        other = seen.setdefault(point.directory, point)
        if other is not point:
            raise InvalidValue(
                f"{source}, [sweep]: {other.combination} and {point.combination} would have one directory; "
                "give them different labels"
            )


def _collected(problems: list[str], make: Any, otherwise: Any) -> Any:
    try:
        return make()
    except InvalidValue as error:
        problems.append(str(error))
        return otherwise


def _message(title: str, problems: list[str]) -> str:
    shown = problems[:10]
    more = [f"... and {len(problems) - len(shown)} more"] if len(problems) > len(shown) else []
    return "\n".join([f"{title}:", *(f"  {line}" for line in (*shown, *more))])
