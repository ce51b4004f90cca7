"""Digests of a user's own code, so that a run goes on with the code that it was begun with."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.config.own_code import import_path

_NOT_OWN = ("fedward", "torch", "numpy", "builtins")
_PLAIN = (bool, int, float, str, bytes, tuple, frozenset, type(None))


def is_own(thing: object) -> bool:
    """Whether a class or a function is somebody's own: not fedward's, PyTorch's, NumPy's or Python's."""
    module = inspect.getmodule(thing)
    root = "builtins" if module is None else module.__name__.partition(".")[0]
    return root == "__main__" or (root not in _NOT_OWN and root not in sys.stdlib_module_names)


def code_digest(thing: Callable[..., Any]) -> str:
    """A digest of the source of a class or a function, and of all own code that it rests on.

    Of an imported module that is its file, and the files of the modules that it imports from the same
    package, or from the same folder. What a program or a notebook defines itself is taken definition by
    definition, so that other lines of the program may change.
    """
    digest = hashlib.sha256()
    for name, text in sorted(_sources(thing).items()):
        digest.update(f"{name}\n{text}\n".encode())
    return digest.hexdigest()


def _sources(thing: Callable[..., Any]) -> dict[str, str]:
    module = inspect.getmodule(thing)
    if module is None or module.__name__ == "__main__" or module.__file__ is None:
        found: dict[str, str] = {}
        _add_definition(thing, found)
        return found
    return {each.__name__: _text(each) for each in _reachable(module)}


def _reachable(module: ModuleType) -> Iterator[ModuleType]:
    """The module, and those of the same package or folder that it imports."""
    folder, waiting, seen = _folder(module), [module], {module.__name__}
    while waiting:
        here = waiting.pop()
        yield here
        for value in list(vars(here).values()):
            used = value if isinstance(value, ModuleType) else inspect.getmodule(value)
            if used is not None and used.__name__ not in seen and _lies_in(used, folder):
                seen.add(used.__name__)
                waiting.append(used)


def _folder(module: ModuleType) -> Path | None:
    """Where the modules lie that belong to this one; None where it stands alone among installed ones."""
    top = sys.modules[module.__name__.partition(".")[0]]
    assert module.__file__ is not None  # the caller has looked
    folder = Path(top.__file__ or module.__file__).resolve().parent
    return None if folder.name in ("site-packages", "dist-packages") else folder


def _lies_in(module: ModuleType, folder: Path | None) -> bool:
    file = module.__file__ if hasattr(module, "__file__") else None
    return bool(file and folder and Path(file).resolve().is_relative_to(folder) and is_own_file(file))


def is_own_file(file: str) -> bool:
    """Whether a source file may change: compiled and installed ones below a project do not count."""
    return file.endswith(".py") and not {"site-packages", "dist-packages"} & set(Path(file).parts)


def _text(module: ModuleType) -> str:
    try:
        return inspect.getsource(module)
    except (OSError, TypeError) as error:
        raise InvalidValue(
            f"the source of {module.__name__} cannot be read, so that no run could be checked against it: "
            f"{error}"
        ) from error


def _add_definition(thing: Any, found: dict[str, str]) -> None:
    """The text of a definition of the program, and of all that it names in the program."""
    name = import_path(thing)
    if name in found:
        return
    try:
        found[name] = inspect.getsource(thing)
        # From Python 3.13 on a class that exec made gets lines of whatever file its module names.
        if isinstance(thing, type) and f"class {thing.__name__}" not in found[name]:
            raise OSError("its file does not define it")
    except (OSError, TypeError) as error:
        raise InvalidValue(
            f"the source of {thing.__qualname__} cannot be read, so that no run could be checked against it: "
            "define it in a file"
        ) from error
    space = vars(sys.modules[thing.__module__])
    for word in dict.fromkeys(_words(thing)):
        value = space.get(word)
        if isinstance(value, _PLAIN) and word in space:
            found[f"{thing.__module__}:{word}"] = repr(value)
        elif inspect.isclass(value) or inspect.isfunction(value):
            if value.__module__ == thing.__module__:
                _add_definition(value, found)
            elif is_own(value):
                found |= _sources(value)
        elif isinstance(value, ModuleType) and value.__file__ and is_own_file(value.__file__):
            found |= {each.__name__: _text(each) for each in _reachable(value)}


def _words(thing: Any) -> Iterator[str]:
    """The global names that a class or a function uses."""
    if inspect.isclass(thing):
        yield from (base.__name__ for base in thing.__bases__)
        for member in vars(thing).values():
            inner = member.fget if isinstance(member, property) else member
            inner = inner.__func__ if isinstance(inner, classmethod | staticmethod) else inner
            if isinstance(inner, FunctionType) or inspect.isclass(inner):
                yield from _words(inner)
    elif isinstance(thing, FunctionType):
        yield from _names_in(thing.__code__)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
