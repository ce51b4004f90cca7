"""A check that imports go one way: between the rooms of fedward, from its tests, and among its tools.

    python tools/check_imports.py          # exits with 1 and names every import that goes up
    python tools/check_imports.py --graph  # the rooms and what each of them knows, for docs/architecture.md

No two rooms import each other, since an import may only go down the list of ``rooms.py``. Imports inside
functions and under ``TYPE_CHECKING`` count like any others: a cycle that is hidden is one all the same.
``imports_of_tests.py`` has the rules for tests and tools.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from imports_of_tests import violations_of_tests
from rooms import ROOMS, ROOT, SOURCE, imported, modules_in, room


def imports(source: Path) -> Iterator[tuple[str, str, str]]:
    """Every import from one room into another: the place, the module and what it imports."""
    files = modules_in(source)
    # The command stands beside the package, which may call it before anything large is imported.
    package = {"fedward", *(module for module in files if module.startswith("fedward."))}
    for module, path in files.items():
        for line, target in imported(path, package):
            if room(target) != room(module):
                yield f"{path.relative_to(source)}:{line}", module, target


def violations(source: Path) -> Iterator[str]:
    """The imports that go up."""
    for place, module, target in imports(source):
        if ROOMS.index(room(target)) > ROOMS.index(room(module)):
            yield f"{place}: {module} must not import {target}, which is in a room above"


def graph(source: Path) -> dict[str, list[str]]:
    """Each room, and the rooms that it knows."""
    known: dict[str, set[str]] = {each: set() for each in ROOMS}
    for _, module, target in imports(source):
        known[room(module)].add(room(target))
    return {each: sorted(rooms, key=ROOMS.index) for each, rooms in known.items()}


if __name__ == "__main__":
    if "--graph" in sys.argv[1:]:
        for each, rooms in graph(SOURCE).items():
            print(f"{each}: {', '.join(rooms)}")
        sys.exit(0)
    found = [*violations(SOURCE), *violations_of_tests(ROOT)]
    print("\n".join(found) if found else "imports go one way")
    sys.exit(1 if found else 0)
