"""Checks that every part runs on its own fields, and the one shape of their errors.

An error says what was wrong, what is allowed and which value came:
``clip bound must be positive and finite, got -1.0``.
"""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class InvalidValue(ValueError):
    """A value that is not allowed: whoever gave it can mend it."""


class InvalidType(InvalidValue, TypeError):
    """A value of the wrong type."""


@contextmanager
def add_to_errors(before: str = "", after: str = "") -> Iterator[None]:
    """Says in every error what it is about, before its words, or what to do, after them.

    >>> with add_to_errors("attack: "):
    ...     positive("scale", -1.0)
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: attack: scale must be positive and finite, got -1.0
    """
    try:
        yield
    except InvalidValue as error:
        raise InvalidValue(f"{before}{error}{after}") from error


def real(name: str, value: float) -> float:
    """Returns ``value`` if it is a finite real number.

    >>> real("learning rate", 0.5)
    0.5
    >>> real("learning rate", float("nan"))
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: learning rate must be finite, got nan
    """
    _require_number(name, value)
    if not math.isfinite(value):
        raise InvalidValue(f"{name} must be finite, got {value}")
    return value


def positive(name: str, value: float) -> float:
    """Returns ``value`` if it is a finite number above zero."""
    _require_number(name, value)
    if not (math.isfinite(value) and value > 0):
        raise InvalidValue(f"{name} must be positive and finite, got {value}")
    return value


def non_negative(name: str, value: float) -> float:
    """Returns ``value`` if it is a finite number that is at least zero."""
    _require_number(name, value)
    if not (math.isfinite(value) and value >= 0):
        raise InvalidValue(f"{name} must be at least 0 and finite, got {value}")
    return value


def rate(name: str, value: float) -> float:
    """Returns ``value`` if it is a probability that can happen: in (0, 1]."""
    _require_number(name, value)
    if not 0 < value <= 1:
        raise InvalidValue(f"{name} must be above 0 and at most 1, got {value}")
    return value


def open_unit(name: str, value: float) -> float:
    """Returns ``value`` if it lies strictly between 0 and 1, as a δ must."""
    _require_number(name, value)
    if not 0 < value < 1:
        raise InvalidValue(f"{name} must be above 0 and below 1, got {value}")
    return value


def half_open_unit(name: str, value: float) -> float:
    """Returns ``value`` if it lies in [0, 1), as a momentum must."""
    _require_number(name, value)
    if not 0 <= value < 1:
        raise InvalidValue(f"{name} must be at least 0 and below 1, got {value}")
    return value


def whole(name: str, value: int, at_least: int = 1, at_most: int | None = None) -> int:
    """Returns ``value`` if it is a whole number from ``at_least`` on, up to ``at_most`` if that is given."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InvalidType(f"{name} must be a whole number, got {value!r}")
    if value < at_least:
        raise InvalidValue(f"{name} must be at least {at_least}, got {value}")
    if at_most is not None and value > at_most:
        raise InvalidValue(f"{name} must be at most {at_most:,}, got {value:,}")
    return value


def one_of(name: str, value: str, allowed: Iterable[str]) -> str:
    """Returns ``value`` if it is one of ``allowed``; otherwise names the nearest.

    >>> one_of("split", "idd", ["iid", "natural"])
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: split must be one of iid, natural, got 'idd'; did you mean 'iid'?
    """
    choices = list(allowed)
    if not isinstance(value, str):
        raise InvalidType(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    if value not in choices:
        raise InvalidValue(
            f"{name} must be one of {', '.join(choices)}, got {value!r}{nearest(value, choices)}"
        )
    return value


def shorten(value: object, longest: int) -> str:
    """A value as Python writes it, or its beginning if it is long.

    >>> shorten("clip", 60), shorten([1, 2, 3, 4, 5], 8)
    ("'clip'", '[1, 2...')
    """
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def nearest(name: str, allowed: Iterable[str]) -> str:
    """The end of an error message: ``; did you mean 'x'?``, or nothing if nothing is near."""
    matches = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.5)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def _require_number(name: str, value: float) -> None:
    # bool is an int in Python: `noise_multiplier=True` is a mistake, not a 1.
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidType(f"{name} must be a number, got {value!r}")
