"""Conditions that select runs: ``accuracy>0.9``, ``algorithm.preset=fedavg``, ``attack_success<=0.1``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from fedward.base.validate import InvalidValue

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_FORM = re.compile(r"\s*([^\s<>=!]+)\s*(<=|>=|!=|=|<|>)\s*(.*?)\s*", re.DOTALL)


@dataclass(frozen=True)
class Condition:
    """A key, a comparison and a value. A run without the key does not meet it, whatever the comparison."""

    key: str
    comparison: str
    value: float | str

    def sql(self) -> tuple[str, tuple[Any, ...]]:
        """As a condition on ``runs.path``; the comparison is one of six, everything else is a parameter."""
        column = "number" if isinstance(self.value, float) else "word"
        return (
            f"path IN (SELECT path FROM facts WHERE key = ? AND {column} {self.comparison} ?)",
            (self.key, self.value),
        )


def condition(text: str) -> Condition:
    """Reads a condition as it is typed.

    >>> condition("accuracy >= 0.9")
    Condition(key='accuracy', comparison='>=', value=0.9)
    >>> condition("algorithm.preset=fedavg")
    Condition(key='algorithm.preset', comparison='=', value='fedavg')
    """
    match = _FORM.fullmatch(text)
    # A second sign, as in =>, would else be taken for the beginning of a word.
    if match is None or not match[3] or match[3][0] in "=<>!":
        raise InvalidValue(
            "a condition must look like accuracy>0.9 or algorithm.preset=fedavg, with one of "
            f"{', '.join(_COMPARISONS)}, got {text!r}"
        )
    key, comparison, value = match.groups()
    number = _number(value)
    if number is None and comparison not in ("=", "!="):
        raise InvalidValue(f"{key} {comparison} needs a number, got {value!r}")
    return Condition(key, comparison, value.strip("\"'") if number is None else number)


def _number(text: str) -> float | None:
    if text in ("true", "false"):
        return float(text == "true")
    try:
        found = float(text)
    except ValueError:
        return None
    return None if math.isnan(found) else found
