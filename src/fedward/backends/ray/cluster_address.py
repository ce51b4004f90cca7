"""The address of a cluster, as a user gives it."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass

from fedward.base.validate import InvalidValue

_LOCAL = re.compile(r"local:([0-9]+)")
_HOST = re.compile(r"([A-Za-z0-9_.-]+|\[[0-9a-fA-F:]+\]):([0-9]{1,5})")
_MOST_NODES = 64


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a cluster is.

    Args:
      host, port: of its head; empty and 0 where Ray itself is to find it.
      nodes: how many nodes are started on this machine instead; 0 for none.
    """

    host: str = ""
    port: int = 0
    nodes: int = 0


def read_address(text: str) -> Address:
    """The address in a text.

    >>> read_address("10.0.0.1:6379")
    Address(host='10.0.0.1', port=6379, nodes=0)
    >>> read_address("local:2").nodes, read_address("auto") == Address()
    (2, True)
    """
    if text == "auto":
        return Address()
    if (local := _LOCAL.fullmatch(text)) and 1 <= int(local[1]) <= _MOST_NODES:
        return Address(nodes=int(local[1]))
    found = _HOST.fullmatch(text)
    if found is None or not 0 < int(found[2]) < 65536:
        hint = ""
        if text.startswith("ray://"):
            hint = "; for a cluster that is reached by ray:// give the command on one of its nodes"
        raise InvalidValue(
            f"cluster must be HOST:PORT of its head, auto, or local:N with N up to {_MOST_NODES}, "
            f"got {text!r}{hint}"
        )
    return Address(host=found[1].strip("[]"), port=int(found[2]))


def require_ray() -> None:
    """Raises where Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise InvalidValue("a cluster needs Ray, which is not installed: pip install 'fedward[ray]'")
