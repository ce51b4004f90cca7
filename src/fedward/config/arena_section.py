"""The table ``[arena]`` of an experiment file: every attack on every defence, with every seed.

[arena]
seeds = 5
[arena.attacks.min_max]
knowledge = "cohort"
model = [{ name = "min_max" }]
[arena.defences.krum]
preset = "krum"
malicious = 10
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from fedward.base.validate import InvalidValue, nearest
from fedward.config.arena_cells import NO_ATTACK, NO_DEFENCE, Cell, Refused
from fedward.config.experiment import from_content
from fedward.config.sweep_axis import SweepAxis
from fedward.config.sweep_section import Point, Problems, Sweep, check_directories, meant_key, read_seeds

_KEYS = {"attacks": "attack", "defences": "algorithm", "data": "data"}
_OPTIONS = ("seeds", "must_be_private")
_MOST = 10_000
Tables = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Arena:
    """Attacks, defences and kinds of data, and the trainings of all cells that can be trained.

    Args:
      attacks: their names; the first is no attack.
      defences: their names; the first is plain averaging.
      data: the names of the kinds of data; one without a name where there is only the file's own.
      must_be_private: the defences that must have an ε.
      sweep: the trainings, of all cells with the first seed, then with the next.
      refused: the cells that cannot be trained, and why.
    """

    attacks: tuple[str, ...]
    defences: tuple[str, ...]
    data: tuple[str, ...]
    must_be_private: tuple[str, ...]
    sweep: Sweep
    refused: tuple[Refused, ...]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All that there are: each kind of data, each defence, each attack."""
        return tuple(
            Cell(data=data, defence=defence, attack=attack)
            for data, defence, attack in product(self.data, self.defences, self.attacks)
        )


def read_arena(content: Tables, source: str = "experiment") -> Arena:
    """Makes every experiment of a file with an ``[arena]``.

    An attack, a defence or a kind of data that is wrong by itself is an error, and all of these are said at
    once. A cell whose two sides do not go together is refused, and the others are not.
    """
    base = dict(content)
    table = base.pop("arena", None)
    if not isinstance(table, dict) or not table:
        hint = meant_key(base, "arena") or "; add it, or run the one experiment with fedward run"
        got = f"{table!r:.100}" if "arena" in content else f"none{hint}"
        raise InvalidValue(
            f"{source} must have a table [arena] with tables of attacks and defences, got {got}"
        )
    if "sweep" in base:
        raise InvalidValue(f"{source} must have a [sweep] or an [arena], got both")
    problems = Problems()
    axes = _axes(table, source, problems)
    seeds: tuple[int, ...] = ()
    with problems.collect():
        seeds = read_seeds(table.get("seeds", 1), base.get("seed"))
    must = _names(table.get("must_be_private", []), axes[1].labels, problems)
    problems.raise_all(f"{source}, [arena]")
    size = len(seeds) * len(axes[0].labels) * len(axes[1].labels) * len(axes[2].labels)
    if size > _MOST:
        raise InvalidValue(f"{source}, [arena]: it must have at most {_MOST:,} trainings, got {size:,}")
    _check_alone({**base, "seed": seeds[0]}, axes, source, problems)
    problems.raise_all(f"{source} with its [arena] is not valid")
    points, refused = [], []
    for seed in seeds:
        for places in product(*(range(len(axis.labels)) for axis in axes)):
            found = _point({**base, "seed": seed}, axes, places, source)
            if isinstance(found, Point):
                points.append(found)
            elif seed == seeds[0]:
                refused.append(found)
    check_directories(points, source)
    data, defences, attacks = (axis.labels for axis in axes)
    return Arena(
        attacks=attacks,
        defences=defences,
        data=data,
        must_be_private=must,
        sweep=Sweep(axes=tuple(axis for axis in axes if axis.key), seeds=seeds, points=tuple(points)),
        refused=tuple(refused),
    )


def _axes(table: Tables, source: str, problems: Problems) -> tuple[SweepAxis, SweepAxis, SweepAxis]:
    """Data, defences and attacks; where there is one kind of data, its axis has no key."""
    for key in table:
        if key not in (*_KEYS, *_OPTIONS):
            with problems.collect():
                raise InvalidValue(f"unknown key {key}{nearest(key, [*_KEYS, *_OPTIONS])}")
    plain = {NO_DEFENCE: {"preset": "fedavg"}}
    data = _axis("data", table.get("data", {}), {}, problems)
    defences = _axis("defences", table.get("defences", {}), plain, problems)
    attacks = _axis("attacks", table.get("attacks", {}), {NO_ATTACK: False}, problems)
    if not problems and len(attacks.labels) == len(defences.labels) == 1:
        with problems.collect():
            raise InvalidValue("it must have at least one attack or defence, [arena.attacks.NAME], got none")
    return data or SweepAxis(key="", values=(None,), labels=("",)), defences, attacks


def _axis(key: str, tables: Any, first: Tables, problems: Problems) -> Any:
    """The tables of one side by their names, those that are always there before them."""
    if not isinstance(tables, Mapping):
        with problems.collect():
            raise InvalidValue(f"{key} must be tables with names, [arena.{key}.NAME], got {tables!r:.100}")
        return None
    for name, value in tables.items():
        with problems.collect():
            if name == NO_ATTACK or "," in name or "=" in name or not name.strip():
                raise InvalidValue(f"{key} must not have the name {name!r}")
            if isinstance(value, bool | int | float | str | list):
                raise InvalidValue(f"{key}.{name} must be a table, got {value!r:.100}")
    named = {**first, **tables}
    return SweepAxis(key=_KEYS[key], values=tuple(named.values()), labels=tuple(named)) if named else None


def _names(given: Any, known: Sequence[str], problems: Problems) -> tuple[str, ...]:
    with problems.collect():
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            raise InvalidValue(f"must_be_private must be a list of names of defences, got {given!r:.100}")
        for name in given:
            if name not in known:
                raise InvalidValue(f"must_be_private names {name!r}, no defence{nearest(name, known)}")
        return tuple(given)
    return ()


def _check_alone(
    base: Tables, axes: tuple[SweepAxis, SweepAxis, SweepAxis], source: str, problems: Problems
) -> None:
    """Every table of every side, with nothing on the others: what is wrong then is wrong in itself."""
    for side, axis in enumerate(axes):
        for place in range(len(axis.labels)):
            if place == 0 and side:
                continue  # all first ones together are tried once
            places = tuple(place if each == side else 0 for each in range(3))
            found = _point(base, axes, places, source)
            if isinstance(found, Refused):
                name = f"{('data', 'defence', 'attack')[side]} {axis.labels[place]}" if axis.key else ""
                for line in filter(None, map(str.strip, found.why.splitlines())):
                    problems.setdefault(line, f"{line} (with {name})" if name else line)


def _point(base: Tables, axes: Sequence[SweepAxis], places: Sequence[int], source: str) -> Point | Refused:
    chosen = [(axis, place) for axis, place in zip(axes, places, strict=True)]
    data, defence, attack = (axis.labels[place] for axis, place in chosen)
    cell = Cell(data=data, defence=defence, attack=attack)
    changed = dict(base)
    try:
        for axis, place in chosen:
            if axis.values[place] is False:  # no attack, whatever the file has
                changed.pop(axis.key, None)
            elif axis.key:
                changed = axis.put(changed, place)
        experiment = from_content(changed, source)
    except InvalidValue as error:
        text = str(error).removeprefix(f"{source} is not a valid experiment:").strip()
        return Refused(cell=cell, why=text)
    return Point(
        labels=cell.labels, values=dict.fromkeys(cell.labels), seed=experiment.seed, experiment=experiment
    )
