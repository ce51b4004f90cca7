"""The rooms of fedward from the ground floor up, and the imports that a file makes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

ROOMS = (
    *("version", "base", "privacy", "core"),
    *("clipping", "sampling", "local", "aggregation", "mechanisms", "server"),
    *("datasets", "models", "features", "attacks", "presets"),
    *("lockstep", "certificates", "backends", "auditing", "testing"),
    *("config", "rundir", "studies", "deploy", "flower", "forecast", "reports", "api"),
    *("fedward", "commands", "cli", "__main__", "fedward_command"),
)


def room(module: str) -> str:
    """The room of a module; the package itself, which hands out its public names, is one too."""
    parts = module.split(".")
    name = parts[0] if parts[0] != "fedward" or len(parts) == 1 else parts[1]
    if name not in ROOMS:
        sys.exit(f"{module} is in no room; give it one in {Path(__file__).name}")
    return name


def modules_in(folder: Path) -> dict[str, Path]:
    """Every module below a folder by its name, as Python imports it from there."""
    return {_name(path, folder): path for path in sorted(folder.rglob("*.py"))}


def imported(path: Path, modules: set[str]) -> Iterator[tuple[int, str]]:
    """Each of these modules that a file imports, with the line; ``from package import module`` included."""
    tops = {module.split(".")[0] for module in modules}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            names = [(alias.name, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [(f"{node.module}.{alias.name}", node.module) for alias in node.names]
        else:
            continue
        for full, package in names:
            if package.split(".")[0] in tops:
                yield node.lineno, full if full in modules else package


def _name(path: Path, folder: Path) -> str:
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
