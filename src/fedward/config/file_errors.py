"""Errors in a file, as pydantic found them, in words for the person who wrote the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fedward.base.validate import InvalidValue, nearest, shorten
from fedward.config.own_code import refuse_code
from fedward.config.sections import FOREIGN_KEYS

_WANTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "tuple_type": "a list in brackets",
    "list_type": "a list in brackets",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "path_type": "a path in quotes",
}


# No file needs so many; and there is an end to how deep Python looks.
_DEEPEST = 40
_LONGEST = 200
_MOST_LINES = 50

Model = TypeVar("Model", bound=BaseModel)


def validate(model: type[Model], content: dict[str, Any], source: str, what: str) -> Model:
    """The content of a file as that model; otherwise everything that is wrong with it, a line each.

    Code that the content names must have been imported before, by somebody who trusts it.
    """
    _check_depth(content, source)
    refuse_code(content, source)
    try:
        return model.model_validate(content)
    except ValidationError as error:
        found = error.errors()
        told = _lines(found[:_MOST_LINES], content)
        if (more := len(found) - _MOST_LINES) > 0:
            told.append(f"and {more:,} more")
        lines = "\n".join(f"  {line}" for line in told)
        raise InvalidValue(f"{source} is not a valid {what}:\n{lines}") from None


def _check_depth(content: dict[str, Any], source: str) -> None:
    """Refuses tables in tables and lists in lists beyond all reason."""
    level: list[Any] = [content]
    for _ in range(_DEEPEST):
        inside = [each.values() if isinstance(each, dict) else each for each in level]
        level = [value for each in inside for value in each if isinstance(value, dict | list)]
        if not level:
            return
    raise InvalidValue(f"{source} must not have more than {_DEEPEST} tables or lists within each other")


def _lines(errors: Sequence[ErrorDetails], content: dict[str, Any]) -> list[str]:
    """A line for each thing that is wrong: what may be one type or another is one thing."""
    wanted: dict[str, list[str]] = {}
    keys = [_key(each["loc"], content, missing=each["type"] == "missing") for each in errors]
    for key, details in zip(keys, errors, strict=True):
        if details["type"] in _WANTED:
            wanted.setdefault(key, []).append(_WANTED[details["type"]])
    lines = []
    for key, details in zip(keys, errors, strict=True):
        if details["type"] not in _WANTED:
            lines.append(_line(key, details))
        # Where something within a list or a table is wrong, that it might not have been one is no help.
        elif (types := wanted.pop(key, None)) and not any(other.startswith(f"{key}.") for other in keys):
            allowed = " or ".join(dict.fromkeys(types))
            lines.append(f"{key} must be {allowed}, got {shorten(details['input'], _LONGEST)}")
    return lines


def _line(key: str, details: ErrorDetails) -> str:
    """One thing that is wrong: the key, what is wrong with it, which value it has."""
    if details["type"] == "missing":
        return f"{key} is missing; add it to the file, or give it with --set {key}=VALUE"
    if details["type"] == "literal_error":
        allowed = details["ctx"]["expected"].replace(" or ", ", ")
        names = [name.strip("'") for name in allowed.split(", ")]
        hint = nearest(details["input"], names) if isinstance(details["input"], str) else ""
        return f"{key} must be one of {allowed}, got {shorten(details['input'], _LONGEST)}{hint}"
    message = details["msg"].removeprefix("Value error, ")
    if details["type"] == FOREIGN_KEYS:
        names = details["ctx"]["names"]
        message += f"; drop {'it' if len(names) == 1 else 'them'} with "
        message += " ".join(f"--set {key}.{name}=" for name in names)
    return f"{key}: {message}" if key else message


def _key(location: tuple[int | str, ...], content: dict[str, Any], missing: bool) -> str:
    """The dotted key in the file; pydantic's own names of alternatives are left out."""
    names: list[str] = []
    here: Any = content
    for position, step in enumerate(location):
        last = position == len(location) - 1
        inside = step in here if isinstance(here, dict) else isinstance(step, int)
        if inside:
            here = here[step]
        elif not (missing and last):
            continue
        names.append(str(step))
    return ".".join(names)
