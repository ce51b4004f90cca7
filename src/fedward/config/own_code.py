"""Code of a user's own in experiment files: a part that is named by its import path, ``my_module:MyPart``.

Importing a module runs it. A file that names code is therefore code itself, and is read only by those who
trust it; files that name none stay data.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue, nearest

_DOTTED = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_CODE = re.compile(rf"({_DOTTED}):({_DOTTED})")
_TAGS = ("name", "preset")


def is_code(name: object) -> bool:
    """Whether a part's name is an import path.

    >>> is_code("my_package.models:MyCNN"), is_code("mlp")
    (True, False)
    """
    return isinstance(name, str) and _CODE.fullmatch(name) is not None


def code_names(content: object) -> list[str]:
    """The import paths that the tables of a file name, each once.

    >>> code_names({"model": {"name": "mine:Net"}, "sweep": {"algorithm": {"preset": ["krum", "mine:rule"]}}})
    ['mine:Net', 'mine:rule']
    """
    found: dict[str, None] = {}
    _replace(content, lambda name: found.setdefault(name))
    return list(found)


def refuse_code(content: object, source: str) -> None:
    """Raises if a file names code: it must be trusted, and its code imported, before it is checked."""
    if names := code_names(content):
        raise InvalidValue(
            f"{source} names code of its own ({', '.join(names)}), which runs with all your rights: read "
            "it, then allow it with --trust (in Python: trust=True)"
        )


def import_code(content: dict[str, Any], file: Path | None = None) -> dict[str, Any]:
    """The content of a trusted file with the code itself in the place of its names.

    Modules are looked for where Python looks, beside the file, and in the working directory; in this order,
    so that no file there hides a library.
    """
    if code_names(content):
        for folder in (Path(os.path.realpath(file)).parent if file is not None else None, Path.cwd()):
            if folder is not None and str(folder) not in sys.path:
                sys.path.append(str(folder))
    replaced: dict[str, Any] = _replace(content, load_code)
    return replaced


def _replace(content: Any, change: Callable[[str], Any]) -> Any:
    """Tables and lists anew, with every import path under a key for names changed."""
    if isinstance(content, list):
        return [_replace(each, change) for each in content]
    if not isinstance(content, Mapping):
        return content
    changed = {}
    for key, value in content.items():
        names_part = str(key).rpartition(".")[2] in _TAGS
        if names_part and is_code(value):
            changed[key] = change(value)
        elif names_part and isinstance(value, list):  # an axis of a sweep
            changed[key] = [change(each) if is_code(each) else _replace(each, change) for each in value]
        else:
            changed[key] = _replace(value, change)
    return changed


def load_code(name: str) -> Callable[..., Any]:
    """Imports what an import path names.

    >>> load_code("collections:OrderedDict")
    <class 'collections.OrderedDict'>
    """
    match = _CODE.fullmatch(name)
    if match is None:
        raise InvalidValue(f"own code must be named package.module:Name, got {name!r}")
    try:
        found: Any = importlib.import_module(match[1])
    except ModuleNotFoundError as error:
        if error.name is None or not f"{match[1]}.".startswith(f"{error.name}."):
            raise InvalidValue(f"{match[1]} cannot be imported: {where_it_failed(error)}") from error
        raise InvalidValue(
            f"there is no module {match[1]} (looked beside the file, in the working directory, and where "
            f"Python looks); write it as {match[1].replace('.', '/')}.py beside the file, or name another"
        ) from None
    except Exception as error:
        raise InvalidValue(f"{match[1]} cannot be imported: {where_it_failed(error)}") from error
    for step in match[2].split("."):
        if not hasattr(found, step):
            others = [each for each in vars(found) if not each.startswith("_")]
            hint = nearest(step, others) or f"; it has {', '.join(others) or 'nothing at all'}"
            raise InvalidValue(f"{match[1]} ({_file(match[1])}) has no {match[2]}{hint}")
        found = getattr(found, step)
    if not callable(found):
        raise InvalidValue(f"{name} must be a class or a function, got {type(found).__name__}")
    return found  # type: ignore[no-any-return]


def import_path(thing: Callable[..., Any]) -> str:
    """The name under which a file would have a class or a function.

    >>> import_path(InvalidValue)
    'fedward.base.validate:InvalidValue'
    """
    return f"{thing.__module__}:{thing.__qualname__}"


def where_it_failed(error: BaseException) -> str:
    """An error of somebody's own code, with the place where it happened."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    if isinstance(error, SyntaxError):
        place = f" ({error.filename}, line {error.lineno})"
    message = str(error).strip().splitlines()
    return f"{type(error).__name__}: {message[0] if message else 'no message'}{place}"


def _file(module: str) -> str:
    return str(sys.modules[module].__file__ or "built in")
