"""The memory of a worker process of a node: values from the object store, made ready once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST = 64
"""Values that one process holds; what it has not used for longest goes first."""

_held: dict[str, Any] = {}


def held(reference: Any, make: Callable[[Any], Any]) -> Any:
    """What ``make`` makes of a value in the object store, made when it is first asked for.

    Args:
      reference: of the value.
      make: from the value as it lies there.
    """
    import ray

    return keep(reference.hex(), lambda: make(ray.get(reference)))


def keep(name: str, make: Callable[[], Any]) -> Any:
    """What ``make`` makes, made when it is first asked for under this name."""
    found = _held.pop(name, None)
    if found is None:
        found = make()
    _held[name] = found
    while len(_held) > MOST:
        del _held[next(iter(_held))]
    return found
