"""An experiment as the TOML text of its file, from what a run has stored."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any


def toml(experiment: Mapping[str, Any]) -> str:
    """The file that describes this experiment; what is not set is left out.

    >>> print(toml({"seed": 1, "data": {"name": "digits", "alpha": None}, "attack": None}))
    seed = 1
    <BLANKLINE>
    [data]
    name = "digits"
    """
    plain = [
        f"{_key(key)} = {value(each)}"
        for key, each in experiment.items()
        if not isinstance(each, Mapping) and not _nothing(each)
    ]
    tables = [list(_table(key, each)) for key, each in experiment.items() if isinstance(each, Mapping)]
    parts = ["\n".join(plain), *("\n".join(table) for table in tables if len(table) > 1)]
    return "\n\n".join(part for part in parts if part)


def _table(name: str, content: Mapping[str, Any]) -> Iterator[str]:
    yield f"[{_key(name)}]"
    for key, each in content.items():
        if not _nothing(each):
            yield f"{_key(key)} = {value(each)}"


def _nothing(content: Any) -> bool:
    return content is None or (isinstance(content, list) and not content)


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _quoted(name)


def _quoted(text: str) -> str:
    # TOML's basic strings are JSON's, but for the one control character that JSON lets through.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(content: Any) -> str:
    """A value as a file has it."""
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, Mapping):
        inside = ", ".join(f"{_key(k)} = {value(v)}" for k, v in content.items() if not _nothing(v))
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(content, list | tuple):
        return f"[{', '.join(map(value, content))}]"
    if isinstance(content, str):
        return _quoted(content)
    if isinstance(content, float) and not math.isfinite(content):
        return "nan" if math.isnan(content) else "inf" if content > 0 else "-inf"
    return repr(content)
