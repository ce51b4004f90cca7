"""The check that scores of replicas lie in [0, 1]."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from fedward.base.validate import InvalidValue


def require_unit(name: str, array: NDArray[Any]) -> None:
    """Raises unless there is at least one replica and all of its values lie in [0, 1]."""
    if len(array) == 0:
        raise InvalidValue("number of replicas must be at least 1, got 0")
    # Not `< 0 or > 1`, which NaN passes.
    wrong = ~((array >= 0) & (array <= 1))
    if wrong.any():
        raise InvalidValue(f"{name} must lie in [0, 1], got {array[wrong][0]}")
