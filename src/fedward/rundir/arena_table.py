"""The table of an arena from the results of its trainings: cells, worst cases and ranks.

Intervals are over seeds, each of which is a training with its own data split, initial model, attackers,
cohorts and noise; Student's t, as in sweeps. (Bounds without that assumption, as certificates use, need
hundreds of trainings: of five they say next to nothing.)

The worst case over A attacks has an interval that holds for having chosen the attack: every attack gets an
interval with error 0.05 / A, so that all of them hold together with 95 %, and then the lowest mean lies
between the lowest lower end and the lowest upper end (the highest mean between the highest ones).

    [min_a low_a, min_a high_a],   [low_a, high_a] with confidence 1 - 0.05 / A

A defence ranks behind another only where their intervals are apart: the ranks of one that could be first to
third are 1 and 3. They are not corrected for how many defences there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fedward.rundir.arena_record import ArenaAbout, ArenaTable, CellResult, Standing, Worst
from fedward.rundir.results import Mean, TrainingResult
from fedward.rundir.sweep_record import guarantee_columns, place_of_weakest

_ERROR = 0.05
Measure = Literal["accuracy", "attack_success"]


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """The results of one cell by seed, with the directory of each."""

    names: Mapping[int, str]
    results: Mapping[int, TrainingResult]

    def values(self, measure: Measure) -> dict[int, float]:
        """One number a seed; empty where any training says nothing of it."""
        found = {seed: getattr(each, measure) for seed, each in self.results.items()}
        return {} if None in found.values() else found


Key = tuple[str, str, str]
"""Data, defence, attack."""


def arena_table(about: ArenaAbout, found: Mapping[Key, Seeded]) -> ArenaTable:
    """All cells, measured or not, and how each defence stands."""
    plain, nobody = about.defences[0].name, about.attacks[0].name
    cells = []
    for data in about.data:
        for defence in about.defences:
            for attack in about.attacks:
                key = (data, defence.name, attack.name)
                untouched = found.get((data, defence.name, nobody))
                cells.append(_cell(key, found.get(key), untouched, found.get((data, plain, nobody))))
    standings = [
        standing for data in about.data for standing in _ranked(_standings(about, data, cells, found))
    ]
    return ArenaTable(about=about, cells=cells, standings=standings)


def _cell(key: Key, own: Seeded | None, untouched: Seeded | None, plain: Seeded | None) -> CellResult:
    data, defence, attack = key
    sides: dict[str, Any] = {"data": data, "defence": defence, "attack": attack}
    if own is None or not own.results:
        return CellResult(**sides, seeds=[], runs=[])
    results = list(own.results.values())
    weakest = results[place_of_weakest(results)]
    return CellResult(
        **sides,
        seeds=list(own.results),
        runs=[own.names[seed] for seed in own.results],
        **guarantee_columns(weakest.guarantee),
        statement=weakest.statement,
        accuracy=_mean(own, "accuracy"),
        attack_success=_mean(own, "attack_success"),
        lost=_difference(untouched, own),
        behind_plain=_difference(plain, own),
    )


def _mean(own: Seeded | None, measure: Measure, error: float = _ERROR) -> Mean | None:
    values = {} if own is None else own.values(measure)
    return Mean.of(list(values.values()), most=1.0, error=error) if values else None


def _difference(one: Seeded | None, other: Seeded) -> Mean | None:
    """The mean of what accuracy differs by, seed by seed: split, attackers and cohorts are the same."""
    if one is None:
        return None
    first, second = one.values("accuracy"), other.values("accuracy")
    both = [first[seed] - second[seed] for seed in second if seed in first]
    return Mean.of(both, least=-1.0, most=1.0) if both and len(both) == len(second) else None


def _standings(
    about: ArenaAbout, data: str, cells: Sequence[CellResult], found: Mapping[Key, Seeded]
) -> list[Standing]:
    known = {(cell.data, cell.defence, cell.attack): cell for cell in cells}
    attacks = about.attacks[1:]
    standings = []
    for defence in about.defences:
        own = {each.name: found.get((data, defence.name, each.name)) for each in attacks}
        met = {name: each for name, each in own.items() if each is not None and each.results}
        quiet = known[data, defence.name, about.attacks[0].name]
        void = [name for name in met if known[data, defence.name, name].epsilon is None]
        standings.append(
            Standing(
                data=data,
                defence=defence.name,
                attacks=len(attacks),
                tried=len(met),
                epsilon=quiet.epsilon,
                delta=quiet.delta,
                statement=quiet.statement,
                void_under=[] if quiet.epsilon is None else void,
                accuracy=quiet.accuracy,
                behind_plain=quiet.behind_plain,
                worst_accuracy=worst(met, "accuracy"),
                worst_success=worst(met, "attack_success"),
                adaptively=any(each.adapts and each.name in met for each in attacks),
                adaptive_attack=defence.adaptive_attack,
            )
        )
    return standings


def worst(met: Mapping[str, Seeded], measure: Measure) -> Worst | None:
    """The attack with the lowest mean accuracy, or with the highest mean success, of those that have it."""
    values = {name: own for name, own in met.items() if own.values(measure)}
    if not values:
        return None
    means = {name: _mean(own, measure, _ERROR / len(values)) for name, own in values.items()}
    known = {name: mean for name, mean in means.items() if mean is not None}
    pick = min if measure == "accuracy" else max
    chosen = pick(known, key=lambda name: known[name].value)
    ends: dict[str, Any] = {}
    for end in ("low", "high"):
        each = [getattr(mean, end) for mean in known.values()]
        ends[end] = None if None in each else pick(each)
    return Worst(attack=chosen, value=known[chosen].value, **ends)


def _ranked(standings: Sequence[Standing]) -> list[Standing]:
    """The standings on one kind of data with their ranks."""
    ranked = list(standings)
    for name, sign in (("worst_accuracy", 1.0), ("worst_success", -1.0)):
        ends = {
            place: _ends(getattr(each, name), sign)
            for place, each in enumerate(ranked)
            if each.tried == each.attacks and _ends(getattr(each, name), sign) is not None
        }
        for place, own in ends.items():
            assert own is not None
            others = [each for other, each in ends.items() if other != place and each is not None]
            better = sum(low > own[1] for low, _ in others)
            worse = sum(high < own[0] for _, high in others)
            placed: dict[str, Any] = {"first_rank": 1 + better, "last_rank": len(ends) - worse}
            found = getattr(ranked[place], name).model_copy(update=placed)
            ranked[place] = ranked[place].model_copy(update={name: found})
    return ranked


def _ends(found: Worst | None, sign: float) -> tuple[float, float] | None:
    """The interval, turned so that more is better."""
    if found is None or found.low is None or found.high is None:
        return None
    low, high = sorted((sign * found.low, sign * found.high))
    return low, high
