"""The progress of a study: one value for all of them, and the one clock that estimates the time left."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fedward.privacy import Ledger
from fedward.privacy.user_ledgers import UserLedgers
from fedward.rundir.results import Measured

_RECENT = 200


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a study stands.

    Args:
      done, total: steps: rounds, evaluations, parts of an epoch.
      seconds_left: None while nobody can know.
      asked, run: local trainings of this session: how many were asked for, how many run. Equal ones run once.
      finished: replicas that are finished, those of earlier sessions included.
      accuracy: of each variant, the mean over the replicas that this session has finished.
      name: of several trainings, the one that went on last.
      rounds: how many rounds that one has.
      metrics: what was last measured of it.
      ledger, users: what it has spent.
      nodes, cores: of the cluster that it runs on; 0 where there is none.
      blocks: how many blocks of work are under way there.
      seconds_apart: what the last step of the training took apart from local trainings; None where nobody
        knows.
    """

    done: int
    total: int
    seconds_left: float | None = None
    asked: int = 0
    run: int = 0
    finished: int = 0
    accuracy: Mapping[str, float] = field(default_factory=dict)
    name: str = ""
    rounds: int = 0
    metrics: Measured | None = None
    ledger: Ledger | None = None
    users: UserLedgers | None = None
    nodes: int = 0
    cores: int = 0
    blocks: int = 0
    seconds_apart: float | None = None


class Clock:
    """Counts the steps of a study by kind, and measures those of this session.

    Kinds differ in cost: the first round of M replicas is shared and so much cheaper than later ones. One
    average over all steps would promise too much at first and too little at the end. All time belongs to
    some step: whatever happens between two of them to the second.

    Args:
      steps: how many steps of each kind the study has, those of earlier sessions included.

    >>> clock = Clock({"round": 3, "evaluation": 1})
    >>> clock.skip("round", 2)
    >>> clock.tick("round")
    >>> found = clock.progress()
    >>> found.done, found.total, found.seconds_left  # nobody knows what an evaluation takes
    (3, 4, None)
    """

    def __init__(self, steps: Mapping[str, int]) -> None:
        self._left = dict(steps)
        self._total = sum(steps.values())
        self._recent: dict[str, deque[float]] = {}
        self._last = time.monotonic()

    def add(self, kind: str, steps: int) -> None:
        """Counts steps that were not known before."""
        self._left[kind] = self._left.get(kind, 0) + steps
        self._total += steps

    def skip(self, kind: str, steps: int = 1) -> None:
        """Counts steps that this session need not do."""
        self._left[kind] -= steps

    def tick(self, kind: str, *, measured: bool = True) -> None:
        """Counts a step that is done; it took the time since the one before, unless that says nothing."""
        seconds = self._elapsed()
        if measured:
            self._recent.setdefault(kind, deque(maxlen=_RECENT)).append(seconds)
        self._left[kind] -= 1

    def tick_together(self, kind: str, steps: int) -> None:
        """Counts steps that were done beside others: each took its share of the time since the last."""
        seconds = self._elapsed() / steps
        self._recent.setdefault(kind, deque(maxlen=_RECENT)).extend([seconds] * min(steps, _RECENT))
        self._left[kind] -= steps

    def charge(self, kind: str, steps: int) -> None:
        """Adds the time since the last step to the last so many of a kind, which needed it."""
        recent, seconds = self._recent[kind], self._elapsed()
        for i in range(max(0, len(recent) - steps), len(recent)):
            recent[i] += seconds / steps

    def progress(self, **known: Any) -> Progress:
        """The progress of the study, with what else is known of it."""
        done = self._total - sum(self._left.values())
        return Progress(done=done, total=self._total, seconds_left=self._seconds_left(), **known)

    def _seconds_left(self) -> float | None:
        """The recent cost of each kind times what is left of it; None while one has not been measured."""
        left = {kind: count for kind, count in self._left.items() if count > 0}
        if not left.keys() <= self._recent.keys():
            return None
        return sum(count * sum(self._recent[kind]) / len(self._recent[kind]) for kind, count in left.items())

    def _elapsed(self) -> float:
        now = time.monotonic()
        before, self._last = self._last, now
        return max(0.0, now - before)  # some virtual machines set even this clock back
