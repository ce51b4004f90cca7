"""The content of an experiment file, not checked yet: light, so that it can be read before torch is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedward.base.limited_files import read_text
from fedward.base.validate import InvalidValue, nearest
from fedward.config.overrides import apply_changes

_DEEPEST = 200
_NOT_OF_A_KEY = re.compile(r"[^\w\-.\"' \t]+")
_LONGEST = 1 << 20
"""Bytes of an experiment file; one that names 100,000 users has fewer."""


def content_of(text: str, source: str) -> dict[str, Any]:
    """The tables in the text of a file; ``source`` names it in errors."""
    # Python's reader keeps every beginning of a dotted key: a long one takes its square of memory.
    if max(each.count(".") for each in _NOT_OF_A_KEY.split(text)) > _DEEPEST:
        raise InvalidValue(f"{source} must not have keys with more than {_DEEPEST} dots")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidValue(
            f"{source} is not valid TOML: {error}; write key = value, text in quotes, lists in brackets"
        ) from error
    except (ValueError, RecursionError) as error:  # a number of too many digits, brackets in brackets
        raise InvalidValue(f"{source} cannot be read as TOML: {error}") from error


def read_content(path: Path, changes: Sequence[str] = ()) -> dict[str, Any]:
    """The tables of an experiment file, with those changes, not checked yet."""
    try:
        text = read_text(path, _LONGEST)
    except FileNotFoundError:
        raise InvalidValue(f"there is no file {path}{_instead_of(path)}") from None
    except IsADirectoryError:
        raise InvalidValue(
            f"{path} cannot be read as text: it is a directory; give an experiment file, such as those that "
            "fedward new writes"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{path} cannot be read as text: {error}") from error
    return apply_changes(content_of(text, str(path)), changes)


def _instead_of(path: Path) -> str:
    """What to do about a file that is not there: take one beside it of nearly that name, or write one."""
    if hint := nearest(path.name, sorted(each.name for each in path.parent.glob("*.toml"))):
        return hint
    return "; fedward new writes one to start from"
