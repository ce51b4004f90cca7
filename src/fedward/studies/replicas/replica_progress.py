"""The progress of a run of replicas: steps that are done, and an estimate of the time left."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fedward.lockstep.lockstep import Lockstep
from fedward.studies.time_left import TimeLeft


@dataclass(frozen=True, kw_only=True)
class ReplicaProgress:
    """Steps that are done, of all; jobs of this session; and seconds left, None while nobody can know.

    A step is one round of one replica of one variant, or its evaluation on one set of examples. ``finished``
    counts replicas, with those of earlier sessions; ``accuracy`` is the mean of each variant over those that
    this session has finished.
    """

    done: int
    total: int
    asked: int
    run: int
    seconds_left: float | None
    finished: int = 0
    accuracy: Mapping[str, float] = field(default_factory=dict)


class ReplicaClock:
    """Counts the steps of all blocks and measures those of this session.

    All time belongs to some step: loading a block and storing a round to the step that follows, storing
    scores to the evaluations before.

    Args:
      steps: how many steps of each kind a replica has.
      replicas: M.
      finished: replicas that earlier sessions have finished.
      together: counts the jobs.
    """

    def __init__(self, steps: Mapping[str, int], replicas: int, finished: int, together: Lockstep) -> None:
        self._left = {kind: (replicas - finished) * count for kind, count in steps.items()}
        self._total = replicas * sum(steps.values())
        self._together = together
        self._finished = finished
        self._accuracy: dict[str, float] = {}
        self._before = finished
        self._time = TimeLeft()
        self._last = time.monotonic()

    def skip(self, kind: str, steps: int = 1) -> ReplicaProgress:
        """Steps that this session need not do."""
        self._left[kind] -= steps
        return self.progress()

    def tick(self, kind: str) -> ReplicaProgress:
        """A step is done; it took the time since the one before."""
        self._time.add(kind, self._elapsed())
        self._left[kind] -= 1
        return self.progress()

    def charge(self, kind: str, steps: int) -> None:
        """Adds the time since the last step to the last so many of a kind: they needed it."""
        self._time.spread(kind, self._elapsed(), steps)

    def finish(self, replicas: int, accuracy: Mapping[str, Sequence[float]]) -> ReplicaProgress:
        """So many replicas are finished now; ``accuracy`` is of those that have just been, by variant."""
        for name, values in accuracy.items():
            so_far = self._accuracy.get(name, 0.0) * (self._finished - self._before)
            self._accuracy[name] = (so_far + sum(values)) / (replicas - self._before)
        self._finished = replicas
        return self.progress()

    def _elapsed(self) -> float:
        now = time.monotonic()
        before, self._last = self._last, now
        return now - before

    def progress(self) -> ReplicaProgress:
        return ReplicaProgress(
            done=self._total - sum(self._left.values()),
            total=self._total,
            asked=self._together.asked,
            run=self._together.run,
            seconds_left=self._time.estimate(self._left),
            finished=self._finished,
            accuracy=dict(self._accuracy),
        )
