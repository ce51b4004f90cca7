"""Named random streams: all randomness of a run comes from here, and no two purposes share a stream.

Local shuffling depends on (seed, round, user) alone, so that every replica trains a user the same way
and equal jobs can be run once. Everything else depends on (seed, replica, round, purpose, user).
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Literal, get_args

import numpy as np

from fedward.core.validate import one_of, whole

Purpose = Literal[
    "partition",
    "initial model",
    "sampling",
    "local",
    "local noise",
    "noise",
    "look",
    "attackers",
    "poisoning",
    "tampering",
    "test split",
]
Source = Literal["seeded", "system"]

SOURCES: tuple[str, ...] = get_args(Source)


def stream(
    seed: int,
    purpose: Purpose,
    *,
    replica: int | None = None,
    round: int | None = None,
    user: int | None = None,
) -> np.random.Generator:
    """The stream of one purpose: the same names give the same numbers, other names independent ones.

    >>> a, b = stream(7, "noise", replica=0, round=3), stream(7, "noise", replica=0, round=3)
    >>> float(a.normal()) == float(b.normal())
    True
    >>> float(stream(7, "sampling", replica=0, round=3).normal()) == float(b.normal())
    False
    """
    return np.random.Generator(np.random.Philox(key=_key(seed, purpose, replica, round, user)))


def local_seed(seed: int, round: int, user: int) -> int:
    """The seed of one user's local training in one round, the same in every replica."""
    return _key(seed, "local", None, round, user) >> 64


def private_local_seed(source: Source, seed: int, replica: int, round: int, user: int) -> int:
    """The seed of a user's training that draws DP randomness: it differs by replica and is never shared.

    With the source ``system`` nobody can compute it from the seed of the run.
    """
    if source == "system":
        return secrets.randbits(128)
    return _key(seed, "local noise", replica, round, user)


def from_local_seed(seed: int) -> np.random.Generator:
    """The stream that belongs to a ``local_seed``."""
    return np.random.Generator(np.random.Philox(key=seed))


def private_stream(
    source: Source, seed: int, purpose: Purpose, *, replica: int, round: int
) -> np.random.Generator:
    """A stream that an onlooker must not be able to reproduce: the named one, or fresh system entropy.

    Amplification by sampling holds only while the cohort is secret, and a seed is written into the run's
    files. So with the source ``system`` the cohort is drawn from system entropy as well.
    """
    if source == "system":
        return np.random.Generator(np.random.Philox(key=secrets.randbits(128)))
    return stream(seed, purpose, replica=replica, round=round)


def system_normal(size: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Standard normal numbers, every bit of them from the operating system (Box and Muller 1958).

    It is not hardened against attacks on floating-point arithmetic (Mironov 2012).
    """
    pairs = (size + 1) // 2
    bits = np.frombuffer(secrets.token_bytes(16 * pairs), dtype=np.uint64) >> np.uint64(11)
    uniform = (bits.astype(np.float64) + 1.0) * 2.0**-53  # in (0, 1], so that the logarithm is finite
    radius = np.sqrt(-2.0 * np.log(uniform[:pairs]))
    angle = 2.0 * np.pi * uniform[pairs:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:size]


def _key(seed: int, purpose: str, replica: int | None, round: int | None, user: int | None) -> int:
    whole("seed", seed, at_least=0)
    one_of("purpose", purpose, get_args(Purpose))
    names = f"fedward/{seed}/{purpose}/{replica}/{round}/{user}"
    return int.from_bytes(hashlib.blake2b(names.encode(), digest_size=16).digest(), "big")
