"""A schedule of faults: which study, what goes wrong and when, all from one number."""

from __future__ import annotations

import errno
import random
import signal
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "no space",
    "quota",
    "input/output error",
    "short writes",
    "killed",
    "power loss",
    "interrupt",
    "terminate",
    "out of memory",
    "clock",
    "worker killed",
    "worker stopped",
]
KINDS: tuple[Kind, ...] = (
    *("no space", "quota", "input/output error", "short writes", "killed"),
    *("power loss", "power loss", "power loss", "interrupt", "terminate", "out of memory", "clock"),
)
"""Each as often as it comes: what a loss of power leaves is the hardest to get right."""

WORKERS: tuple[Kind, ...] = ("worker killed", "worker stopped")
EVERY = 50
"""One seed in so many has real worker processes, which take seconds to start."""

CODES = {"no space": errno.ENOSPC, "quota": errno.EDQUOT, "input/output error": errno.EIO}
FULL: tuple[Kind, ...] = ("no space", "quota")
SIGNALS = {"interrupt": signal.SIGINT, "terminate": signal.SIGTERM}

FILE_MOMENTS = ("open", "write", "sync", "sync of a directory", "rename", "unlink", "mkdir", "truncate")
ENDS: tuple[Kind, ...] = ("killed", "power loss", "out of memory")
"""What no session survives."""

_MAKE_LARGER = ("open", "write", "sync", "sync of a directory", "rename", "mkdir")
MOMENTS: dict[Kind, tuple[str, ...]] = {
    "no space": _MAKE_LARGER,
    "quota": _MAKE_LARGER,
    "input/output error": FILE_MOMENTS,
    "short writes": ("write",),
    "clock": ("job", "step"),
    "worker killed": ("row",),
    "worker stopped": ("row",),
}
"""The moments that a fault may come at, where not any will do."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that goes wrong in a session.

    Args:
      kind: what it is.
      share: when: at that moment which comes after this share of all that it may come at.
      lasting: whether the disk fails from then on, or once.
      detail: of everything else that is left to chance.
    """

    kind: Kind
    share: float
    lasting: bool
    detail: int

    @property
    def moments(self) -> tuple[str, ...]:
        """The kinds of moments that it may come at."""
        return MOMENTS.get(self.kind, (*FILE_MOMENTS, "job", "step"))


@dataclass(frozen=True, kw_only=True)
class FaultSchedule:
    """What happens to one study, session after session, until it is left alone. A value of its seed."""

    seed: int
    study: str
    faults: tuple[Fault, ...]

    @classmethod
    def of(cls, seed: int, studies: tuple[str, ...], later: tuple[str, ...] = ()) -> FaultSchedule:
        """The schedule of a seed; ``later`` are studies that change nothing for most of the seeds."""
        choice = random.Random(f"faults {seed}")
        study = choice.choice(studies)
        late = random.Random(f"later {seed}")
        if later and late.random() < len(later) / (len(studies) + len(later)):
            study = late.choice(later)
        if seed % EVERY == EVERY - 1:
            kind = WORKERS[seed // EVERY % len(WORKERS)]
            fault = Fault(kind=kind, share=choice.random(), lasting=False, detail=choice.getrandbits(32))
            return cls(seed=seed, study=study, faults=(fault,))
        faults = [
            Fault(
                kind=choice.choice(KINDS),
                share=choice.random(),
                lasting=choice.random() < 0.5,
                detail=choice.getrandbits(32),
            )
            for _ in range(choice.choice((1, 1, 2, 3)))
        ]
        return cls(seed=seed, study=study, faults=tuple(faults))
