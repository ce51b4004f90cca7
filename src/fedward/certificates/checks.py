"""Checks that the numbers of a certificate lie between 0 and 1."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidType, InvalidValue

Floats = NDArray[np.float64]


def check_unit(name: str, value: float) -> float:
    """Returns ``value`` if it lies in [0, 1], as an expected confidence must.

    >>> check_unit("top confidence", 1.5)
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: top confidence must be from 0 to 1, got 1.5
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidType(f"{name} must be a number, got {value!r}")
    if not 0 <= value <= 1:
        raise InvalidValue(f"{name} must be from 0 to 1, got {value}")
    return float(value)


def check_all_in_unit(name: str, values: Any) -> Floats:
    """The values as an array of floats, if each lies in [0, 1]."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise InvalidType(f"{name} must be numbers, got an array of {array.dtype}")
    outside = ~((array >= 0) & (array <= 1))
    if outside.any():
        raise InvalidValue(f"{name} must be from 0 to 1, got {array[outside].flat[0]}")
    return array.astype(np.float64)
