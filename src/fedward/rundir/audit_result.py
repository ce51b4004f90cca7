"""The result of ``fedward audit``, as it is stored."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, Self

from pydantic import model_validator

from fedward.rundir.file_record import FileRecord
from fedward.rundir.promise import Promise

Method = Literal["error rates", "noise family", "one run", "one run, noise family"]


class BoundRecord(FileRecord):
    """A lower bound on ε.

    Args:
      method: by which it was found.
      epsilon: the bound.
      assumes: what it assumes of the mechanism; empty if nothing.
      wrong: of how many trainings or canaries the attack was wrong, each kind with its number.
    """

    method: Method
    epsilon: float
    assumes: str = ""
    wrong: list[list[int]]


class AuditResult(Promise):
    """The result of ``fedward audit``.

    Args:
      mode, see: how it attacked, and what it saw.
      runs: how many trainings.
      canaries: in one training; None where there is one.
      error: the probability with which a bound may be wrong.
      claimed: the ε that is promised.
      lower_bound: the largest of the bounds, which hold together but for ``error``.
      bounds: each of them.
      estimate: the ε that fits best; no bound. None where it is infinite.
      verdict: ``violation`` where a bound lies above the claim.
      sentence: the same in words.
      assumptions: what the largest bound assumes, and what the audit takes for granted.
      accountants: the promise by each accountant that has a proof for it.
      attack: what attacked best: the company of the canary, and the score.
    """

    mode: str
    see: str
    runs: int
    canaries: int | None = None
    error: float
    claimed: float
    lower_bound: float
    bounds: list[BoundRecord]
    estimate: float | None
    verdict: Literal["no violation", "violation"]
    sentence: str
    assumptions: list[str]
    accountants: dict[str, float | None]
    attack: str

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if not self.bounds:
            raise ValueError("it has no bound")
        if self.lower_bound != max(bound.epsilon for bound in self.bounds):
            raise ValueError("'lower_bound' is not the largest of its bounds")
        if (self.verdict == "violation") != (self.lower_bound > self.claimed):
            raise ValueError(f"'verdict' is {self.verdict!r} with a bound of {self.lower_bound:g}")
        if not math.isfinite(self.claimed):
            raise ValueError("'claimed' is not finite")
        return self

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        yield from ((name, getattr(self, name)) for name in ("claimed", "lower_bound", "estimate", "verdict"))
