"""Random streams of inference attacks: what is attacked and what attacks it never share one."""

from __future__ import annotations

import hashlib
from typing import Literal, get_args

import numpy as np

from fedward.base.validate import one_of, whole

Purpose = Literal[
    "anchors",
    "target half",
    "shadow half",
    "target training",
    "shadow training",
    "dealing",
    "schedule",
    "auxiliary",
    "simulation",
    "classifier",
]


def seed_of(seed: int, purpose: Purpose, *numbers: int) -> int:
    """A seed for one purpose of an inference attack: 63 bits, other names give unrelated ones.

    >>> seed_of(7, "target training", 0) == seed_of(7, "target training", 0)
    True
    >>> seed_of(7, "target training", 0) == seed_of(7, "shadow training", 0)
    False
    """
    whole("seed", seed, at_least=0)
    one_of("purpose", purpose, get_args(Purpose))
    names = "/".join(["fedward inference", str(seed), purpose, *map(str, numbers)])
    return int.from_bytes(hashlib.blake2b(names.encode(), digest_size=8).digest(), "big") >> 1


def stream_of(seed: int, purpose: Purpose, *numbers: int) -> np.random.Generator:
    """The stream that belongs to such a seed."""
    return np.random.Generator(np.random.Philox(key=seed_of(seed, purpose, *numbers)))
