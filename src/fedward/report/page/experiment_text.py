"""An experiment as the TOML text of its file, from what a run has stored, and where several differ."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from fedward.rundir.catalogue.facts import Fact, flat


def toml(experiment: Mapping[str, Any]) -> str:
    """The file that describes this experiment; what is not set is left out.

    >>> print(toml({"seed": 1, "data": {"name": "digits", "alpha": None}, "attack": None}))
    seed = 1
    <BLANKLINE>
    [data]
    name = "digits"
    """
    plain = {key: each for key, each in experiment.items() if not isinstance(each, Mapping)}
    tables = {key: _pairs(each) for key, each in experiment.items() if isinstance(each, Mapping)}
    parts = [_pairs(plain), *([f"[{_key(name)}]", *pairs] for name, pairs in tables.items() if pairs)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def value(content: Any) -> str:
    """A value as a file has it."""
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, Mapping):
        return f"{{ {', '.join(pairs)} }}" if (pairs := _pairs(content)) else "{}"
    if isinstance(content, list | tuple):
        return f"[{', '.join(map(value, content))}]"
    if isinstance(content, str):
        # TOML's basic strings are JSON's, but for the one control character that JSON lets through.
        return json.dumps(content, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(content, float) and not math.isfinite(content):
        return "nan" if math.isnan(content) else "inf" if content > 0 else "-inf"
    return repr(content)


def _pairs(content: Mapping[str, Any]) -> list[str]:
    return [
        f"{_key(key)} = {value(each)}" for key, each in content.items() if each is not None and each != []
    ]


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else value(name)


def differing_keys(experiments: Sequence[Mapping[str, Any]]) -> dict[str, list[Fact | None]]:
    """The dotted keys in which they differ, with the value of each; None where it is not set.

    >>> differing_keys([{"seed": 1, "data": {"users": 5}}, {"seed": 1, "data": {"users": 6}}])
    {'data.users': [5, 6]}
    """
    known = [dict(flat(dict(each))) for each in experiments]
    keys = dict.fromkeys(key for each in known for key in each)
    found = {key: [each.get(key) for each in known] for key in keys}
    return {key: values for key, values in found.items() if len(set(map(json.dumps, values))) > 1}
