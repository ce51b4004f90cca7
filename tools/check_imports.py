"""The rooms of fedward, and a check that every import goes to a room below.

    python tools/check_imports.py          # exits with 1 and names every import that goes up
    python tools/check_imports.py --graph  # the rooms and what each of them knows, for docs/architecture.md

No two rooms import each other, since an import may only go down this list. Imports inside functions and under
``TYPE_CHECKING`` count like any others: a cycle that is hidden is one all the same.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"

# From the ground floor up.
ROOMS = (
    *("version", "base", "privacy", "core"),
    *("clipping", "sampling", "local", "aggregation", "mechanisms", "server"),
    *("datasets", "models", "attacks", "presets"),
    *("lockstep", "certificates", "backends"),
    *("config", "rundir", "studies", "forecast", "report", "api"),
    *("fedward", "commands", "cli", "__main__", "fedward_command"),
)


def room(module: str) -> str:
    """The room of a module; the package itself, which hands out its public names, is one too."""
    parts = module.split(".")
    name = parts[0] if parts[0] != "fedward" or len(parts) == 1 else parts[1]
    if name not in ROOMS:
        sys.exit(f"{module} is in no room; give it one in {Path(__file__).name}")
    return name


def imported(tree: ast.AST, modules: set[str]) -> Iterator[tuple[int, str]]:
    """Each fedward module that a file imports, with the line; ``from package import module`` included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "fedward":
                    yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "fedward":
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield node.lineno, full if full in modules else str(node.module)


def imports(source: Path) -> Iterator[tuple[str, str, str]]:
    """Every import from one room into another: the place, the module and what it imports."""
    files = {name(path, source): path for path in sorted(source.rglob("*.py"))}
    for module, path in files.items():
        for line, target in imported(ast.parse(path.read_text(encoding="utf8")), set(files)):
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


def name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


if __name__ == "__main__":
    if "--graph" in sys.argv[1:]:
        for each, rooms in graph(SOURCE).items():
            print(f"{each}: {', '.join(rooms)}")
        sys.exit(0)
    found = list(violations(SOURCE))
    print("\n".join(found) if found else "imports go one way")
    sys.exit(1 if found else 0)
