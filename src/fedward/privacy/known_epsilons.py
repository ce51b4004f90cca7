"""The ε of earlier processes of this user, by what was accounted: accounting again may take seconds.

One file in the user's cache directory holds the last few thousand of them. It is believed only if this user
wrote it (``base/own_cache.py``), and each ε only for the very spending, the very code of this room and the
very versions of what it computes with. Anything else is as good as not there: the ε is computed and stored.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import version
from pathlib import Path

from fedward.base.own_cache import read_cache, write_cache

MOST = 4096
"""How many are kept: some 200 kB. Those that were stored first go first."""

_ABOUT = b"epsilons of pld"
_STORES: ContextVar[bool] = ContextVar("stores", default=True)


@contextmanager
def storing_no_epsilon() -> Iterator[None]:
    """Here what is known is read and nothing is written: some commands promise that."""
    before = _STORES.set(False)
    try:
        yield
    finally:
        _STORES.reset(before)


def recall_or_compute(about: str, compute: Callable[[], float]) -> float:
    """The stored ε of a spending, or else the computed one, which is stored.

    Args:
      about: all that the ε depends on but the code, each number with all its digits.
      compute: the ε, finite and at least 0.
    """
    key = _digest_of(about)
    known = _read().get(key)
    if known is not None:
        return known
    found = compute()
    if not _STORES.get():
        return found
    # Read again: other processes may have stored theirs in the meantime.
    kept = _read() | {key: found}
    last = list(kept.items())[-MOST:]
    write_cache(_ABOUT, json.dumps({name: epsilon.hex() for name, epsilon in last}).encode())
    return found


def _digest_of(about: str) -> str:
    return hashlib.blake2b(f"{_code()}\n{about}".encode(), digest_size=16).hexdigest()


@cache
def _code() -> str:
    """What computes an ε: this room's files, and the packages behind them."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    packages = (f"{name} {version(name)}" for name in ("dp-accounting", "numpy", "scipy"))
    return f"{digest.hexdigest()} {', '.join(packages)}"


def _read() -> dict[str, float]:
    stored = read_cache(_ABOUT)
    if stored is None:
        return {}
    try:
        found = {name: float.fromhex(epsilon) for name, epsilon in json.loads(stored).items()}
    except (ValueError, TypeError, AttributeError, OverflowError):
        return {}
    return {name: epsilon for name, epsilon in found.items() if math.isfinite(epsilon) and epsilon >= 0.0}
