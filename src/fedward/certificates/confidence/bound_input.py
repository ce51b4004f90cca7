"""Checks of the input of every bound: values of M replicas, and the side that is asked for."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedward.base.validate import InvalidType, InvalidValue, one_of, open_unit
from fedward.certificates.unit_range import require_unit

Array = NDArray[np.float64]
Side = Literal["lower", "upper"]
"""Whether a bound is below the expected score or above it."""

SIDES: tuple[str, ...] = get_args(Side)


def unit_values(name: str, values: ArrayLike) -> Array:
    """Returns values of M replicas, ``[M, ...]``, if all of them lie in [0, 1] and M is at least 1.

    >>> unit_values("confidences", [0.5, 1.5])
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: confidences must lie in [0, 1], got 1.5
    """
    array: NDArray[Any] = np.asarray(values)
    if array.dtype.kind not in "buif":
        raise InvalidType(f"{name} must be numbers, got an array of {array.dtype}")
    if array.ndim == 0:
        raise InvalidValue(f"{name} must hold one value for each replica, got a single number")
    require_unit(name, array)
    return array.astype(np.float64, copy=False)


def check_request(values: ArrayLike, error: float, side: Side) -> Array:
    """Checks what a bound was asked for; returns its values."""
    open_unit("error", error)
    one_of("side", side, SIDES)
    return unit_values("values", values)
