"""Checks that imports go one way, as DESIGN has it.

    core <- parts <- presets, certify, backends <- experiment, report <- cli

A module may import modules of its own layer and of layers below. Run it from anywhere; it exits with 1
and names every import that goes up.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"

# The longest prefix that fits a module gives its layer. The ledger and its events are values that the
# core's state holds, so privacy lies below the core and above what both check and draw with.
LAYERS = {
    "fedward.version": 0,
    "fedward.core.validate": 0,
    "fedward.core.randomness": 0,
    "fedward.core.strict_json": 0,
    "fedward.privacy": 1,
    "fedward.core": 2,
    "fedward.sampling": 3,
    "fedward.local": 3,
    "fedward.clipping": 3,
    "fedward.aggregation": 3,
    "fedward.noise": 3,
    "fedward.server": 3,
    "fedward.attacks": 3,
    "fedward.models": 3,
    "fedward.datasets": 3,
    "fedward.presets": 4,
    "fedward.certify": 4,
    "fedward.backends": 4,
    "fedward.api": 5,
    "fedward.experiment": 5,
    "fedward.report": 5,
    "fedward": 6,
    "fedward.commands": 6,
    "fedward.cli": 7,
    "fedward.__main__": 8,
    "fedward_command": 8,
}


def layer(module: str) -> int:
    prefix = module
    while prefix and prefix not in LAYERS:
        prefix = prefix.rpartition(".")[0]
    if not prefix or (prefix == "fedward" and module != "fedward"):
        sys.exit(f"{module} has no layer; give it one in {Path(__file__).name}")
    return LAYERS[prefix]


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


def violations(source: Path) -> Iterator[str]:
    files = {name(path, source): path for path in sorted(source.rglob("*.py"))}
    for module, path in files.items():
        for line, target in imported(ast.parse(path.read_text(encoding="utf8")), set(files)):
            if layer(target) > layer(module):
                yield f"{path.relative_to(source)}:{line}: {module} must not import {target}"


def name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


if __name__ == "__main__":
    found = list(violations(SOURCE))
    print("\n".join(found) if found else "imports go one way")
    sys.exit(1 if found else 0)
