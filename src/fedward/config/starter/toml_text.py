"""TOML with a comment beside every key."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_WIDTH = 108
_FAR = 54


@dataclass(frozen=True)
class Line:
    """A key with its value and what it means; a comment altogether if it is not active."""

    key: str
    value: Any
    words: str = ""
    active: bool = True

    @property
    def text(self) -> str:
        return f"{'' if self.active else '# '}{self.key} = {toml(self.value)}"


def table(title: str, lines: Sequence[Line]) -> list[str]:
    """A table, with an empty line before it; comments stand in one column where they can."""
    column = max(len(line.text) for line in lines if len(line.text) <= _FAR or len(lines) == 1) + 2
    found = ["", *([f"[{title}]"] if title else [])]
    for line in lines:
        beside = f"{line.text:<{column}}# {line.words}"
        if not line.words:
            found.append(line.text)
        elif len(line.text) < column and len(beside) <= _WIDTH:
            found.append(beside)
        else:
            found += textwrap.wrap(line.words, _WIDTH, initial_indent="# ", subsequent_indent="# ")
            found.append(line.text)
    return found


def comment_out(lines: Iterable[str]) -> list[str]:
    """The same lines as comments; what was one already stays one."""
    return [f"# {line}" if line else line for line in lines]


def toml(value: Any) -> str:
    """A value as TOML has it, on one line.

    >>> toml({"name": "sgd", "steps": [1, 2.5], "momentum": True})
    '{ name = "sgd", steps = [1, 2.5], momentum = true }'
    """
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)
