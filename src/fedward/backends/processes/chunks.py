"""Jobs in chunks: consecutive ones that together are worth a message."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from torch import Tensor

from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed

Task = Literal["train", "evaluate", "confidences"]

SECONDS = 0.05
"""Seconds that a chunk should take: long against a message, short against a round."""

LEAST_SECONDS = 0.002
"""Seconds that a chunk should take at least, even if others are idle meanwhile."""

MOST_BYTES = 16 * 2**20
"""Of results in one chunk; a single result may be larger."""

MOST_DEATHS = 3
"""So many processes may die at the same job before it is given up."""


class Pace:
    """Seconds for each unit of weight, as measured so far; None before anything was."""

    def __init__(self) -> None:
        self.rate: float | None = None

    def measured(self, seconds: float, weight: float) -> None:
        rate = seconds / weight
        self.rate = rate if self.rate is None else (self.rate + rate) / 2


@dataclass(eq=False, kw_only=True)
class Chunk:
    """Some items of one call, and what came out of them: a value or a tensor or both for each.

    ``failure`` belongs to the item after the last result: everything before it is still good. A chunk that
    nobody waits for any more is ``dropped``.
    """

    task: Task
    items: list[Any]
    weight: float
    pace: Pace
    examples: Examples | None = None
    results: list[tuple[Any, Tensor | None]] | None = None
    failure: Exception | None = None
    dropped: bool = False
    _deaths: int = 0
    _place: int = -1

    def done(
        self, results: list[tuple[Any, Tensor | None]], failure: Exception | None, seconds: float
    ) -> None:
        """Takes what a worker sent."""
        self.results = results
        self.failure = failure or self.failure
        if self.failure is None:
            self.pace.measured(seconds, self.weight)

    def note_death(self, place: int, how: str) -> None:
        """A process died while it was at the item with this place; the third time the item is given up."""
        self._deaths = self._deaths + 1 if place == self._place else 1
        self._place = place
        if self._deaths < MOST_DEATHS:
            return
        what, user = ("job", self.items[place][0].user) if self.task == "train" else ("model", None)
        why = f"the worker process died {MOST_DEATHS} times at this {what} ({how})"
        self.failure = TrainingFailed(why, user=user)
        # What comes before it has to run once more: its results went with the process.
        self.items = self.items[:place]
        if not self.items:
            self.results = []


class Sized(NamedTuple):
    """An item with what it is expected to cost, in any unit, and how many bytes come back for it."""

    item: Any
    weight: float
    size: int


class Cutter:
    """Takes items from an iterable, as late as possible, and cuts them into chunks.

    What the iterable or the preparation of an item raises is kept in ``error``, to be raised when everything
    before it is done.

    Args:
      items: may be endless.
      prepare: gives each item's weight and size.
      pace: turns weight into time.
      fixed: the number of items in each chunk; None for as many as take about ``SECONDS``.
      parts: where it is known how many items are left, a chunk takes at most this share of them, so that
        nobody is idle at the end.
    """

    def __init__(
        self,
        items: Iterable[Any],
        prepare: Callable[[Any], Sized],
        *,
        pace: Pace,
        fixed: int | None,
        parts: int,
    ) -> None:
        self._left = operator.length_hint(items)
        self._items = iter(items)
        self._prepare, self._pace, self._fixed, self._parts = prepare, pace, fixed, parts
        self._next: Sized | None = None
        self._ended = False
        self.error: Exception | None = None

    def cut(self) -> list[Sized]:
        """The next chunk; empty at the end."""
        taken: list[Sized] = []
        weight, size = 0.0, 0
        while not taken or len(taken) < self._largest_weight(weight / len(taken)):
            sized = self._take()
            if sized is None:
                break
            if taken and size + sized.size > MOST_BYTES:
                self._next = sized
                break
            taken.append(sized)
            weight, size = weight + sized.weight, size + sized.size
        self._left = max(0, self._left - len(taken))
        return taken

    def _largest_weight(self, weight: float) -> float:
        if self._fixed is not None:
            return self._fixed
        if self._pace.rate is None:
            return 1
        each = max(self._pace.rate * weight, 1e-6)
        if not self._left:
            return SECONDS / each
        # Not so few that the messages take longer than the work, or that nothing is left to do together.
        return min(SECONDS / each, max(LEAST_SECONDS / each, -(-self._left // self._parts)))

    def _take(self) -> Sized | None:
        if self._next is not None:
            sized, self._next = self._next, None
            return sized
        if self._ended:
            return None
        try:
            return self._prepare(next(self._items))
        except StopIteration:
            self._ended = True
        except Exception as error:
            self._ended, self.error = True, error
        return None
