"""Modules of fedward as text: what a name stands for, found without importing anything."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue

_PACKAGE = Path(__file__).parents[1]


@cache
def read_module(module: str) -> ast.Module:
    """The text of a module, parsed."""
    return ast.parse(_file(module).read_text(encoding="utf8"))


def package_of(module: str) -> str:
    """The package that a module is in; a package is in itself.

    >>> package_of("fedward.presets.robust"), package_of("fedward.presets")
    ('fedward.presets', 'fedward.presets')
    """
    return module if _file(module).name == "__init__.py" else module.rpartition(".")[0]


def find_definition(module: str, name: str) -> tuple[str, ast.AST]:
    """The module in which a name gets its meaning, and the function, class or value that it stands for."""
    for node in read_module(module).body:
        match node:
            case ast.FunctionDef() | ast.ClassDef() if node.name == name:
                return module, node
            case ast.AnnAssign(target=ast.Name(target), value=ast.expr() as value) if target == name:
                return module, value
            case ast.Assign(targets=[ast.Name(target)], value=value) if target == name:
                return module, value
    if (found := find_import(module, name)) is not None:
        return find_definition(*found)
    raise InvalidValue(f"{module} has no {name}")


def find_import(module: str, name: str) -> tuple[str, str] | None:
    """The module and the name there that ``from ... import`` gives this name to; None if nothing does."""
    for node in read_module(module).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for each in node.names:
                if (each.asname or each.name) == name:
                    return node.module, each.name
    return None


def class_of(module: str, node: ast.AST) -> tuple[str, ast.ClassDef]:
    """The class of what is made by a call of it, or of a function that says what it returns."""
    match node:
        case ast.ClassDef():
            return module, node
        case ast.Call(func=ast.Name(name)) | ast.FunctionDef(returns=ast.Name(name)):
            return class_of(*find_definition(module, name))
    raise InvalidValue(f"{module} does not say of which class it is: {ast.unparse(node)}")


def value_of(module: str, node: ast.AST) -> Any:
    """A literal, or a constant that stands for one."""
    if isinstance(node, ast.Name):
        return value_of(*find_definition(module, node.id))
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise InvalidValue(
            f"a value must be written out, or be a constant that is, got {ast.unparse(node)} in {module}"
        ) from None


def _file(module: str) -> Path:
    folder = _PACKAGE.joinpath(*module.split(".")[1:])
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
