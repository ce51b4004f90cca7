"""A choice of users or examples to keep for testing, where the data itself makes none."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue, open_unit


def choose_held_out(names: NDArray[Any], share: float, what: str = "users") -> NDArray[np.bool_]:
    """Chooses a share of the names for testing: those whose hashes are smallest.

    The choice depends on the names alone. Every seed is tested on the same users, and whoever was a test
    user stays one when the order of the file changes. At least one is chosen and at least one is left.

    Args:
      names: numbers or strings, each once.
      share: in (0, 1); the number is rounded.
      what: what the names are, for the error.

    >>> choose_held_out(np.array(["ann", "bob", "eve", "joe"]), 0.5).tolist()
    [False, True, True, False]
    """
    open_unit("test share", share)
    if len(names) < 2:
        raise InvalidValue(f"a test share needs at least 2 {what}, one to train on, got {len(names)}")
    hashes = [hashlib.blake2b(str(name).encode(), digest_size=8).digest() for name in names.tolist()]
    number = min(max(1, round(share * len(names))), len(names) - 1)
    chosen = np.zeros(len(names), dtype=bool)
    chosen[sorted(range(len(names)), key=hashes.__getitem__)[:number]] = True
    return chosen
