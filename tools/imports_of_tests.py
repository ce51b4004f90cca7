"""The rules for imports of tests and tools, and what breaks them.

A test of a room, with all the helpers that it imports, knows only floors up to that room's own: a test that
needs more belongs further up. The package ``fedward`` itself is for everybody, as it is for users. Nobody
imports a test, tools know no tests, fedward knows neither, and helpers and tools import each other in no
circle.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from rooms import ROOMS, imported, modules_in, room

# The first room of each floor. Whatever runs, stores, shows or takes commands is one floor: what a run
# directory holds is tested by what commands print of it.
FLOORS = ("version", "privacy", "core", "config", "rundir")

EXCEPTIONS = {
    "tests/attacks/model_poisoning/test_model_poisoning.py": "fields of attacks are keys of files",
    "tests/attacks/poisoning/test_word.py": "its sentences are read from a file in one way only",
    "tests/backends/test_protocol.py": "the backend of sweeps keeps the promises of all backends",
    "tests/config/starter/test_starter.py": "a starter must train",
    "tests/config/test_attack_section.py": "the section of the runs that other tests make",
    "tests/core/test_mechanism.py": "a mechanism's state is stored and resumed",
    "tests/datasets/test_datasets_in_files.py": "options of data sets are keys of files",
    "tests/datasets/test_synthetic.py": "it is the data of most experiment files",
    "tests/presets/test_robust.py": "rules are named in files",
}
"""Tests that know a floor above their own, and why that is no mistake."""


Imports = dict[str, list[tuple[int, str]]]
"""What each module imports, with the lines."""


def violations_of_tests(root: Path) -> Iterator[str]:
    """Whatever breaks the rules, in the tests, tools and sources below a root."""
    tests, tools, source = (modules_in(root / name) for name in ("tests", "tools", "src"))
    files = source | tests | tools
    imports: Imports = {
        module: [each for each in imported(path, set(files)) if each[1] in files]
        for module, path in files.items()
    }
    for module, targets in imports.items():
        for line, target in targets:
            if target in source:
                continue
            place = f"{files[module].relative_to(root)}:{line}: {module} must not import {target}"
            if module in source:
                yield f"{place}: it is no part of fedward"
            elif target in tests and target.split(".")[-1].startswith("test_"):
                yield f"{place}: what two tests share is a helper"
            elif module in tools and target in tests:
                yield f"{place}: tools know no tests"
    yield from _circles(imports, tests.keys() | tools.keys())
    for module, path in tests.items():
        name, own = path.relative_to(root).as_posix(), module.split(".")[0]
        if own in ROOMS and "." in module and name not in EXCEPTIONS:
            for target, by in _reached(module, imports, source.keys()).items():
                if target != "fedward" and _floor(room(target)) > _floor(own):
                    through = "" if by == module else f" (through {by})"
                    yield f"{name}: tests of {own} must not import {target}, a floor above{through}"


def _floor(name: str) -> int:
    return sum(ROOMS.index(first) <= ROOMS.index(name) for first in FLOORS)


def _reached(module: str, imports: Imports, source: Collection[str]) -> dict[str, str]:
    """What a test imports of fedward, and which module does it: itself or a helper."""
    reached: dict[str, str] = {}
    seen, left = {module}, [module]
    while left:
        by = left.pop()
        for _, target in imports[by]:
            if target in source:
                reached.setdefault(target, by)
            elif target not in seen:
                seen.add(target)
                left.append(target)
    return reached


def _circles(imports: Imports, among: Collection[str]) -> Iterator[str]:
    """Modules that import each other in a circle."""
    graph = {module: {target for _, target in imports[module]} - {module} for module in among}
    while graph:
        leaves = {module for module, targets in graph.items() if not targets & graph.keys()}
        if not leaves:
            # What nobody of the rest imports only leads to a circle.
            inside = {module for module in graph if any(module in graph[other] for other in graph)}
            yield f"{', '.join(sorted(inside))} import each other in a circle"
            return
        graph = {module: targets for module, targets in graph.items() if module not in leaves}
