"""An estimate of the time left, from steps that were measured; there is none before the first."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")
_RECENT = 200


class TimeLeft:
    """Estimates from the recent cost of each kind of step.

    The first round of M replicas is shared and so much cheaper than later ones: one average over all steps
    would promise too much at first and too little at the end.

    >>> clock = TimeLeft()
    >>> clock.add("round", 2.0)
    >>> clock.estimate({"round": 10}), clock.estimate({"round": 10, "evaluation": 1})
    (20.0, None)
    """

    def __init__(self) -> None:
        self._recent: dict[str, deque[float]] = {}

    def add(self, kind: str, seconds: float) -> None:
        self._recent.setdefault(kind, deque(maxlen=_RECENT)).append(seconds)

    def spread(self, kind: str, seconds: float, steps: int) -> None:
        """Time that the last so many steps of a kind took together, besides what each of them took."""
        recent = self._recent[kind]
        for i in range(max(0, len(recent) - steps), len(recent)):
            recent[i] += seconds / steps

    def estimate(self, left: Mapping[str, int]) -> float | None:
        """Seconds for so many steps of each kind; None while one of them has not been measured."""
        kinds = {kind: count for kind, count in left.items() if count > 0}
        if not kinds.keys() <= self._recent.keys():
            return None
        return sum(count * sum(self._recent[kind]) / len(self._recent[kind]) for kind, count in kinds.items())


def timed(steps: Iterable[T], clock: TimeLeft, rounds: Callable[[T], int]) -> Iterator[T]:
    """The steps as they come, their rounds timed; those of an earlier session do not count."""
    before: tuple[int, float] | None = None
    for step in steps:
        done, now = rounds(step), time.monotonic()
        if before is not None and done > before[0]:
            clock.add("round", (now - before[1]) / (done - before[0]))
        yield step
        # Not before: time in which nobody works is nobody's.
        before = done, time.monotonic()
