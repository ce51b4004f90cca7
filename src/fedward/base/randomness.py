"""Named random streams: all randomness of a run comes from here, and no two purposes share a stream.

Local shuffling depends on (seed, round, user) alone, so that every replica trains a user the same way
and equal jobs can be run once. Everything else depends on (seed, replica, round, purpose, user), and on the
``draw`` that the replica belongs to, where it belongs to one: replicas of other draws share no number.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Literal, get_args

import numpy as np

from fedward.base.validate import InvalidValue, one_of, whole

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
    "aggregation",
    "test split",
    "public users",
    "canary",
    "group",
]
Source = Literal["seeded", "system"]

SOURCES: tuple[str, ...] = get_args(Source)

_DRAW = re.compile(r"[0-9a-f]*")
_COINS = re.compile(r"(?:[0-9a-f]{32})?")


def stream(
    seed: int,
    purpose: Purpose,
    *,
    replica: int | None = None,
    round: int | None = None,
    user: int | None = None,
    draw: str = "",
) -> np.random.Generator:
    """The stream of one purpose: the same names give the same numbers, other names independent ones.

    >>> a, b = stream(7, "noise", replica=0, round=3), stream(7, "noise", replica=0, round=3)
    >>> float(a.normal()) == float(b.normal())
    True
    >>> float(stream(7, "sampling", replica=0, round=3).normal()) == float(b.normal())
    False
    """
    return np.random.Generator(np.random.Philox(key=_key(seed, purpose, replica, round, user, draw)))


def local_seed(seed: int, round: int, user: int) -> int:
    """The seed of one user's local training in one round, the same in every replica."""
    return _key(seed, "local", None, round, user) >> 64


def private_local_seed(seed: int, replica: int, round: int, user: int, draw: str = "") -> int:
    """The seed of a user's training that draws DP randomness: it differs by replica and is never shared.

    For research: whoever knows the seed of the run can compute it. In production users draw ``system_seed``.
    """
    return _key(seed, "local noise", replica, round, user, draw)


def system_seed() -> int:
    """A seed from system entropy, which nobody can compute."""
    return secrets.randbits(128)


def from_local_seed(seed: int) -> np.random.Generator:
    """The stream that belongs to a seed of one training."""
    return np.random.Generator(np.random.Philox(key=seed))


def system_coins() -> str:
    """128 bits of system entropy as text, for streams that must come back after a training was killed."""
    return f"{secrets.randbits(128):032x}"


def check_coins(coins: str) -> str:
    """Returns what ``system_coins`` gave, or nothing.

    >>> check_coins("ff")
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: coins must be 32 hexadecimal digits or empty
    """
    if not isinstance(coins, str) or not _COINS.fullmatch(coins):
        raise InvalidValue("coins must be 32 hexadecimal digits or empty")  # they are secret: not shown
    return coins


def private_stream(
    source: Source, seed: int, purpose: Purpose, *, replica: int, round: int, draw: str = ""
) -> np.random.Generator:
    """A stream that an onlooker must not be able to reproduce: the named one, or fresh system entropy.

    Amplification by sampling holds only while the cohort is secret, and a seed is written into the run's
    files. So with the source ``system`` the cohort is drawn from system entropy as well.
    """
    if source == "system":
        return from_local_seed(system_seed())
    return stream(seed, purpose, replica=replica, round=round, draw=draw)


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


def check_draw(draw: str) -> str:
    """Returns the name of a set of replicas: the hexadecimal digits of a digest, or nothing.

    >>> check_draw("a/b")
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: draw must be hexadecimal digits or empty, got 'a/b'
    """
    if not isinstance(draw, str) or not _DRAW.fullmatch(draw):
        raise InvalidValue(f"draw must be hexadecimal digits or empty, got {draw!r}")
    return draw


def _key(
    seed: int, purpose: str, replica: int | None, round: int | None, user: int | None, draw: str = ""
) -> int:
    whole("seed", seed, at_least=0)
    one_of("purpose", purpose, get_args(Purpose))
    names = f"fedward/{seed}/{purpose}/{replica}/{round}/{user}"
    # Without a draw the name is the one it always was: stored trainings are resumed to the same bits.
    names += f"/{check_draw(draw)}" if draw != "" else ""
    return int.from_bytes(hashlib.blake2b(names.encode(), digest_size=16).digest(), "big")
