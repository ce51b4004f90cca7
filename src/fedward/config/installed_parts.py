"""Parts that installed packages offer under names of their own, by entry points.

A package that has in its pyproject.toml

[project.entry-points."fedward.models"]
my_cnn = "my_package.models:MyCNN"

makes ``name = "my_cnn"`` known to every experiment file on that machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.config.own_code import load_code

GROUPS = tuple(
    f"fedward.{name}"
    for name in (
        *("models", "datasets", "presets", "samplers", "local_trainers", "clip_policies", "aggregators"),
        *("rules", "mechanisms", "servers", "attackers", "data_poisonings", "model_poisonings"),
        *("patterns", "features", "public_features"),
    )
)
"""The entry points under which packages register parts."""


def installed(group: str, ours: Iterable[str]) -> dict[str, EntryPoint]:
    """The parts of a group by name. A name that fedward has itself is refused: it would mean two things."""
    found: dict[str, EntryPoint] = {}
    for point in _points(group):
        if point.name in ours or found.get(point.name, point) != point:
            raise InvalidValue(
                f"the package {package_of(point)} registers {point.name!r} for {group}, and that name is "
                "taken: uninstall it, or ask its authors for another name"
            )
        found[point.name] = point
    return found


def all_installed() -> list[EntryPoint]:
    """Every part that an installed package registers, whatever it is; none of them is imported."""
    return [point for group in GROUPS for point in _points(group)]


def load_installed(point: EntryPoint) -> Callable[..., Any]:
    """Imports an installed part."""
    return load_code(point.value)


def package_of(point: EntryPoint) -> str:
    """The name of the package that registers a part."""
    return point.dist.name if point.dist is not None else point.module.partition(".")[0]


@cache
def _points(group: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))
