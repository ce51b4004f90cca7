"""The public names of fedward, and the page of the reference that each stands on.

A package is public if it has ``__all__`` and is not in ``INTERNAL``; ``MODULES`` are public beside them.
Everything is read from the source: nothing is imported, so that the pages do not depend on which extras are
installed.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

INTERNAL = {
    "fedward.api": "its names are those of fedward itself",
    "fedward.backends.engines.native": "an engine is chosen by Compute, and has no names for users",
    "fedward.reports.page": "reports are written by fedward.report and by the records",
}
# Modules, not packages: what one's own parts are checked against, Flower's side, and models.
MODULES = ("fedward.core.types", "fedward.flower", "fedward.models")
# What is used through its package, as in fedward.datasets.digits.load: the values of these tables, and more.
_TABLES = {"fedward.datasets": ("DATASETS",), "fedward.models": ("MODELS", "TEXT_MODELS")}
_MORE = {"fedward.models": ("MODELS", "TEXT_MODELS", "build")}
_SOURCE = "src"


@dataclass(frozen=True, kw_only=True)
class PublicModule:
    """A package or module whose names are public.

    Args:
      name: as it is imported.
      summary: the first paragraph of its docstring.
      names: what it offers, sorted as letters are.
      definitions: for each of these, in full, where it is written.
      sentences: for each of these the first sentence of its docstring; nothing without one.
    """

    name: str
    summary: str
    names: tuple[str, ...]
    definitions: dict[str, str]
    sentences: dict[str, str]

    @property
    def page(self) -> str:
        """Its page, from the root of the site."""
        return f"reference/{self.name}.md"


def public_modules(root: Path) -> list[PublicModule]:
    """All public modules, ``fedward`` first."""
    source = _Source(root / _SOURCE)
    found = []
    for name in sorted(source.files):
        is_package = source.files[name].name == "__init__.py"
        if name not in INTERNAL and (name in MODULES or (is_package and _listed(source.tree(name)))):
            found.append(_public_module(source, name))
    return found


def homes(modules: list[PublicModule]) -> dict[str, str]:
    """For each public name in full, the public module on whose page it is explained.

    What several modules offer is explained once: in the one that is nearest above where it is written.
    """
    found = {}
    for module in modules:
        for name in module.names:
            definition = module.definitions[name]
            offers = [other.name for other in modules if definition in other.definitions.values()]
            above = [other for other in offers if definition.startswith(f"{other}.")]
            found[f"{module.name}.{name}"] = max(above or offers, key=len)
    return found


class _Source:
    """Modules by their names, read when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.files = {_module_name(folder, path): path for path in (folder / "fedward").rglob("*.py")}
        self._trees: dict[str, ast.Module] = {}

    def tree(self, name: str) -> ast.Module:
        if name not in self._trees:
            self._trees[name] = ast.parse(self.files[name].read_text(encoding="utf8"))
        return self._trees[name]

    def definition(self, module: str, name: str) -> str:
        """Where a name of a module is written, in full."""
        first, _, rest = name.partition(".")
        for node in ast.walk(self.tree(module)):
            if isinstance(node, ast.ImportFrom) and node.module in self.files and node.module != module:
                for alias in node.names:
                    if first == (alias.asname or alias.name):
                        below = f"{node.module}.{alias.name}"
                        if rest and below in self.files:
                            return self.definition(below, rest)
                        return self.definition(node.module, alias.name)
        return f"{module}.{name}"

    def docstring(self, definition: str) -> str:
        """The docstring of what is written there; nothing if there is none."""
        if definition in self.files:
            return ast.get_docstring(self.tree(definition)) or ""
        module, _, name = definition.rpartition(".")
        body = self.tree(module).body
        for node, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
                return ast.get_docstring(node) or ""
            if name in _assigned(node) and after is not None:
                return _text_of(after)
        return ""


def _public_module(source: _Source, name: str) -> PublicModule:
    tree = source.tree(name)
    names = {*_listed(tree), *_MORE.get(name, ())}
    for table in _TABLES.get(name, ()):
        names.update(_values(tree, table))
    definitions = {each: source.definition(name, each) for each in names}
    return PublicModule(
        name=name,
        summary=(ast.get_docstring(tree) or "").partition("\n\n")[0],
        names=tuple(sorted(names, key=str.lower)),
        definitions=definitions,
        sentences={each: _first_sentence(source.docstring(definitions[each])) for each in names},
    )


def _module_name(folder: Path, path: Path) -> str:
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _listed(tree: ast.Module) -> tuple[str, ...]:
    """What ``__all__`` is set to; nothing if it is not."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and _assigned(node) == ["__all__"]:
            return tuple(ast.literal_eval(node.value))
    return ()


def _text_of(node: ast.stmt) -> str:
    """The text that a statement is, as docstrings are; nothing if it is anything else."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return inspect.cleandoc(str(node.value.value))
    return ""


def _assigned(node: ast.stmt) -> list[str]:
    """The names that a statement gives a value to."""
    if isinstance(node, ast.Assign):
        return [ast.unparse(each) for each in node.targets]
    return [ast.unparse(node.target)] if isinstance(node, ast.AnnAssign) else []


def _first_sentence(docstring: str) -> str:
    """What is before the first full stop that ends a sentence, on one line."""
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    return re.split(r"(?<=[.?!:]) (?=[A-ZΑ-Ω`(])", paragraph)[0].rstrip(":")


def _values(tree: ast.Module, table: str) -> Iterator[str]:
    """What the values of a literal dictionary are called."""
    for node in tree.body:
        if table in _assigned(node) and isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            pairs = zip(node.value.keys, node.value.values, strict=True)
            yield from (ast.unparse(value) for key, value in pairs if key is not None)
