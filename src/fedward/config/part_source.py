"""Parts as their source text has them: documentation, keys and defaults, read without importing any.

Importing a part imports torch, for seconds. What ``fedward list`` and ``fedward new`` say of parts is written
in literals, docstrings and signatures, and these are in the text.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.config.module_source import (
    class_of,
    find_definition,
    find_import,
    package_of,
    read_module,
    value_of,
)

NO_DEFAULT = inspect.Parameter.empty


@dataclass(frozen=True, kw_only=True)
class Key:
    """An argument of a part: its default, ``NO_DEFAULT`` if it has none, and its type as it is written."""

    default: Any
    annotation: str


@dataclass(frozen=True, kw_only=True)
class PartSource:
    """A function or a dataclass by the module that has it, or that imports it from where it is."""

    module: str
    name: str

    @property
    def documentation(self) -> str:
        """Its own docstring, or that of its file; empty if there is neither."""
        _, file, own = self.docstrings
        return own or file

    @property
    def docstrings(self) -> tuple[str, str, str]:
        """Of its package, its file and itself, from far to near."""
        module, node = self._definition()
        return (
            ast.get_docstring(read_module(package_of(module))) or "",
            ast.get_docstring(read_module(module)) or "",
            ast.get_docstring(node) or "",
        )

    @property
    def keys(self) -> dict[str, Key]:
        """Its arguments by name."""
        module, node = self._definition()
        if isinstance(node, ast.ClassDef):
            return _fields(module, node)
        return _arguments(*_called_like(module, node))

    def _definition(self) -> tuple[str, ast.FunctionDef | ast.ClassDef]:
        module, node = find_definition(self.module, self.name)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            raise InvalidValue(f"a part must be a function or a class, got {ast.unparse(node)} in {module}")
        return module, node


def read_parts(module: str, registry: str) -> dict[str, PartSource]:
    """The parts of a registry, a dictionary that is written out, by name.

    >>> read_parts("fedward.sampling", "SAMPLERS")["poisson"]
    PartSource(module='fedward.sampling.poisson', name='PoissonSampler')
    """
    module, node = find_definition(module, registry)
    if not isinstance(node, ast.Dict):
        raise InvalidValue(f"{registry} of {module} must be a dictionary that is written out")
    parts: dict[str, PartSource] = {}
    for name, value in zip(node.keys, node.values, strict=True):
        match name, value:
            case None, ast.Name(others):  # **OTHERS
                parts |= read_parts(module, others)
            case ast.Constant(str(text)), ast.Name(part):
                found, given = find_import(module, part) or (module, part)
                parts[text] = PartSource(module=found, name=given)
            case ast.Constant(str(text)), ast.Attribute(ast.Name(file), part):
                package, given = find_import(module, file) or (module, file)
                parts[text] = PartSource(module=f"{package}.{given}", name=part)
            case _:
                raise InvalidValue(f"{registry} of {module} must name its parts, got {ast.unparse(value)}")
    return parts


def read_value(module: str, name: str) -> Any:
    """A constant of a module.

    >>> list(read_value("fedward.attacks.attack", "KNOWLEDGE"))
    ['own', 'cohort']
    """
    return value_of(*find_definition(module, name))


def read_descriptions(module: str, section: str) -> dict[str, str]:
    """What the keys of a table mean, in the order of its class: the ``description`` of each field.

    >>> read_descriptions("fedward.config.experiment", "EvaluationSection")
    {'every': 'measure every so many rounds, and after the last.'}
    """
    module, node = class_of(*find_definition(module, section))
    return {
        each.target.id: value_of(module, word.value)
        for each in node.body
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and isinstance(each.value, ast.Call)
        for word in each.value.keywords
        if word.arg == "description"
    }


def _fields(module: str, node: ast.ClassDef) -> dict[str, Key]:
    """The fields of a dataclass, which are the arguments of its ``__init__``."""
    return {
        each.target.id: _key(module, each.annotation, each.value)
        for each in node.body
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and not ast.unparse(each.annotation).startswith("ClassVar")
    }


def _arguments(module: str, node: ast.FunctionDef) -> dict[str, Key]:
    given = node.args
    names = [*given.posonlyargs, *given.args]
    required: list[ast.expr | None] = [None] * (len(names) - len(given.defaults))
    names, defaults = [*names, *given.kwonlyargs], [*required, *given.defaults, *given.kw_defaults]
    return {
        each.arg: _key(module, each.annotation, default)
        for each, default in zip(names, defaults, strict=True)
        if each.arg != "self"
    }


def _called_like(module: str, node: ast.FunctionDef) -> tuple[str, ast.FunctionDef]:
    """The function whose signature this one has: ``@called_like(SET.load)`` names a method of a value."""
    match node.decorator_list:
        case [ast.Call(func=ast.Name("called_like"), args=[ast.Attribute(ast.Name(owner), method)])]:
            module, kind = class_of(*find_definition(module, owner))
            for each in kind.body:
                if isinstance(each, ast.FunctionDef) and each.name == method:
                    return module, each
    return module, node


def _key(module: str, annotation: ast.expr | None, default: ast.expr | None) -> Key:
    return Key(
        default=NO_DEFAULT if default is None else value_of(module, default),
        annotation="" if annotation is None else ast.unparse(annotation),
    )
