"""Other values for keys of a file, as the command line gives them: ``--set KEY=VALUE``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from fedward.base.validate import InvalidValue, nearest

# Names of parts are the values that people set most, and a shell eats the quotes that TOML wants.
BARE = re.compile(r"[A-Za-z_][\w./:-]*")


def apply_changes(content: dict[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """The content of a file with ``KEY=VALUE`` put in, one after the other; ``KEY=`` takes a key out.

    >>> apply_changes({"rounds": 5, "data": {"name": "digits"}}, ["data.users=20", "rounds="])
    {'data': {'name': 'digits', 'users': 20}}
    """
    changed: dict[str, Any] = copy_tables(content)
    for text in changes:
        key, equals, written = text.partition("=")
        key = key.strip()
        if not equals or not all(key.split(".")):
            raise InvalidValue(f"--set must be written KEY=VALUE, with dots in the key, got {text!r}")
        if written.strip():
            put(changed, key, value_of(written, text))
        else:
            take_out(changed, key)
    return changed


def copy_tables(content: Any) -> Any:
    """Tables and lists anew, with the same values in them: a data set in Python is not copied."""
    if isinstance(content, Mapping):
        return {key: copy_tables(value) for key, value in content.items()}
    return [copy_tables(value) for value in content] if isinstance(content, list) else content


def source_of(source: str, changes: Sequence[str]) -> str:
    """How errors name a file some keys of which were set on the command line."""
    return " ".join([source, *(f"--set {text}" for text in changes)])


def value_of(written: str, whole: str | None = None) -> Any:
    """A value as files have it; a plain word may come without its quotes.

    >>> value_of("[1, 2.5]"), value_of("true"), value_of("krum")
    ([1, 2.5], True, 'krum')
    """
    try:
        found = tomllib.loads(f"value = {written}")
    except (ValueError, RecursionError) as error:  # ValueError: also a number of too many digits
        if BARE.fullmatch(written.strip()):
            return written.strip()
        raise InvalidValue(
            f"a value must be written as in a file, got {whole or written!r}: {error}"
        ) from error
    if list(found) != ["value"]:
        raise InvalidValue(f"a value must be one value, got {whole or written!r}")
    return found["value"]


def put(content: Any, key: str, value: Any) -> None:
    """Sets a dotted key. Tables that are missing are made; numbers from 0 on are places in a list.

    >>> content = {"attack": {"data": [{"name": "single_pixel"}]}}
    >>> put(content, "attack.data.0.fraction", 0.5)
    >>> content
    {'attack': {'data': [{'name': 'single_pixel', 'fraction': 0.5}]}}
    """
    path = key.split(".")
    for name in path[:-1]:
        if isinstance(content, dict):
            content.setdefault(name, {})
        content = content[_place(content, name, key)]
    content[_place(content, path[-1], key)] = value


def take_out(content: Any, key: str) -> None:
    """Removes a dotted key that is there."""
    *tables, last = key.split(".")
    for name in tables:
        content = content[_existing_place(content, name, key)]
    del content[_existing_place(content, last, key)]


def _place(content: Any, name: str, whole: str) -> str | int:
    """A name in a table, or the place in a list that a number stands for."""
    if isinstance(content, dict):
        return name
    if not isinstance(content, list):
        raise InvalidValue(f"{whole} cannot be set: {name} is not in a table of the file")
    if not (name.isascii() and name.isdecimal()) or len(name) > 9 or int(name) >= len(content):
        raise InvalidValue(
            f"{whole} cannot be set: {name} must be a place in a list of {len(content)}, from 0 on"
        )
    return int(name)


def _existing_place(content: Any, name: str, whole: str) -> str | int:
    place = _place(content, name, whole)
    if isinstance(content, dict) and place not in content:
        raise InvalidValue(f"{whole} cannot be taken out: the file has no {name}{nearest(name, content)}")
    return place
