"""Conditions that select runs: ``accuracy>0.9``, ``algorithm.preset=fedavg``, ``attack_success<=0.1``."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.rundir.catalogue.facts import Fact

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FORM = re.compile(r"\s*([^\s<>=!]+)\s*(<=|>=|!=|=|<|>)\s*(.*?)\s*", re.DOTALL)


@dataclass(frozen=True)
class Condition:
    """A key, a comparison and a value. A run without the key does not meet it, whatever the comparison."""

    key: str
    comparison: str
    value: float | str

    def is_met(self, known: Mapping[str, Fact]) -> bool:
        """Whether what is known of a run meets it; a word and a number are never compared."""
        if self.key not in known or isinstance(known[self.key], str) != isinstance(self.value, str):
            return False
        fact = known[self.key]
        return _COMPARISONS[self.comparison](fact if isinstance(fact, str) else float(fact), self.value)


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
