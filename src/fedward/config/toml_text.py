"""TOML text: values, the file of an experiment, and tables with a comment beside every key."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
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


def experiment_text(experiment: Mapping[str, Any]) -> str:
    """The file that describes this experiment; what is not set is left out.

    >>> print(experiment_text({"seed": 1, "data": {"name": "digits", "alpha": None}, "attack": None}))
    seed = 1
    <BLANKLINE>
    [data]
    name = "digits"
    """
    plain = {key: each for key, each in experiment.items() if not isinstance(each, Mapping)}
    tables = {key: _pairs(each) for key, each in experiment.items() if isinstance(each, Mapping)}
    parts = [_pairs(plain), *([f"[{_key(name)}]", *pairs] for name, pairs in tables.items() if pairs)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def toml(value: Any) -> str:
    """A value as TOML has it, on one line; keys of tables that are not set are left out.

    >>> toml({"name": "sgd", "steps": [1, 2.5], "momentum": True, "decay": None})
    '{ name = "sgd", steps = [1, 2.5], momentum = true }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(pairs)} }}" if (pairs := _pairs(value)) else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        # TOML's basic strings are JSON's, but for the one control character that JSON lets through.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return repr(value)


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {toml(each)}" for key, each in table.items() if each is not None and each != []]


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else toml(name)
