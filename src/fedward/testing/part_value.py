"""The promises of every part: it is a value that is frozen, compares, prints, travels and checks itself."""

from __future__ import annotations

import copy
import dataclasses
import math
import re
from typing import Any

import cloudpickle

from fedward.testing.conformance import Promise, broken, not_applicable
from fedward.testing.repeatable import in_short

_FROZEN = "Make it a @dataclass(frozen=True, kw_only=True)"


def _is_frozen(part: Any) -> None:
    names = [field.name for field in dataclasses.fields(part)] if dataclasses.is_dataclass(part) else []
    for name in names or ["a_new_attribute"]:
        try:
            setattr(part, name, getattr(part, name, 1))
        except (AttributeError, TypeError):
            continue
        broken(f"{name} of it can be set after it was made", _FROZEN)


def _equals_its_copies(part: Any) -> None:
    other = copy.deepcopy(part)
    if not _equal(part, other):
        broken("a copy of it is not equal to it", f"{_FROZEN}, of fields that compare")
    try:
        own = hash(part)
    except TypeError:
        return
    if own != hash(other):
        broken(
            "an equal copy of it has another hash", "Let hash depend on what == compares, and on nothing else"
        )


def _prints(part: Any) -> None:
    text = repr(part)
    if text != repr(copy.deepcopy(part)) or re.search(r"\bat 0x[0-9a-f]+", text):
        broken(
            f"it prints as {in_short(text)}, where a copy prints as {in_short(repr(copy.deepcopy(part)))}",
            f"Print the fields and no address in memory: manifests of runs hold this text. {_FROZEN}",
        )


def _travels(part: Any) -> None:
    try:
        other = cloudpickle.loads(cloudpickle.dumps(part))
    except Exception as error:
        broken(
            f"it cannot be pickled: {type(error).__name__}: {error}",
            "Worker processes get a pickled copy of it: hold no open files, locks or generators "
            "in its fields",
        )
    if not _equal(part, other):
        broken("a pickled copy of it is not equal to it", f"{_FROZEN}, of fields that compare")


def _checks_itself(part: Any) -> None:
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        not_applicable("it is no dataclass, so nobody else knows its fields")
    tried = 0
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if not field.init or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        tried += 1
        wrong: list[Any] = ["no number"] if isinstance(value, int) else ["no number", math.nan]
        for bad in wrong:
            _require_refused(part, field.name, bad)
    if not tried:
        not_applicable("none of its fields is a number")


def _require_refused(part: Any, name: str, bad: Any) -> None:
    remedy = f'Check it in __post_init__: fedward.base.validate.positive("{name}", self.{name}), for instance'
    try:
        made = dataclasses.replace(part, **{name: bad})
    except (ValueError, TypeError) as error:
        if str(bad) not in str(error):
            broken(f"its error for {name}={bad!r} does not say which value came: {error}", remedy)
        return
    broken(f"{name}={bad!r} was taken without a word: {in_short(made)}", remedy)


def _equal(part: Any, other: Any) -> bool:
    try:
        return bool(part == other)
    except Exception:  # tensors, say, have no single answer
        return False


VALUE_PROMISES: tuple[Promise[Any], ...] = (
    Promise(says="is a frozen value", check=_is_frozen),
    Promise(says="equals its copies", check=_equals_its_copies),
    Promise(says="prints as the value that it is", check=_prints),
    Promise(says="goes to worker processes and is equal there", check=_travels),
    Promise(says="checks itself when it is made", check=_checks_itself),
)
"""What every part promises, whatever its kind."""
