"""How far a run of replicas is, and how long the rest will take."""

from __future__ import annotations

import time
from dataclasses import dataclass

from fedward.core.lockstep import Lockstep
from fedward.experiment.time_left import TimeLeft


@dataclass(frozen=True, kw_only=True)
class ReplicaProgress:
    """Steps that are done, of all; jobs of this session; and seconds left, None while nobody can know.

    A step is one round of one replica of one variant, or its evaluation.
    """

    done: int
    total: int
    asked: int
    run: int
    seconds_left: float | None


class ReplicaClock:
    """Counts the steps of all blocks and measures those of this session.

    Args:
      rounds: how many rounds each of a replica's variants has.
      replicas: M.
      finished: replicas that earlier sessions have finished.
    """

    def __init__(self, rounds: list[int], replicas: int, finished: int) -> None:
        variants = len(rounds)
        left = replicas - finished
        self._left = {
            "first round": left * variants,
            "round": left * (sum(rounds) - variants),
            "evaluation": left * variants,
        }
        self._total = replicas * (sum(rounds) + variants)
        self._time = TimeLeft()
        self._last = time.monotonic()

    def skip(self, first: int, later: int) -> None:
        """Rounds of the block under way that an earlier session has done."""
        self._left["first round"] -= first
        self._left["round"] -= later

    def restart(self) -> None:
        """What follows is measured from now."""
        self._last = time.monotonic()

    def tick(self, kind: str) -> None:
        """A step is done; it took the time since the one before."""
        now = time.monotonic()
        self._time.add(kind, now - self._last)
        self._last = now
        self._left[kind] -= 1

    def progress(self, together: Lockstep) -> ReplicaProgress:
        return ReplicaProgress(
            done=self._total - sum(self._left.values()),
            total=self._total,
            asked=together.asked,
            run=together.run,
            seconds_left=self._time.estimate(self._left),
        )
