"""The number of replicas, or trainings, in a block: small at first and at the end, some seconds between."""

from __future__ import annotations

import math

SECONDS = 15.0
"""Seconds that a block should take: long against a message, short against a kill, which loses it."""


class BlockSizes:
    """Sizes of the blocks that so many items are cut into.

    Args:
      left: how many items there are.
      most: that one block may have.

    >>> sizes = BlockSizes(1000, most=100)
    >>> sizes.next(slots=2)
    8
    >>> sizes.measured(seconds=0.5, items=8)
    >>> sizes.next(slots=2)
    100
    """

    def __init__(self, left: int, *, most: int) -> None:
        self._left, self._most = left, most
        self._rate: float | None = None

    def next(self, slots: int) -> int:
        """The size of the next block, for so many that run at once."""
        # Each takes a share of what is left, so that nobody is idle at the end.
        size = math.ceil(self._left / (3 * slots))
        timed = 8 if self._rate is None else SECONDS / max(self._rate, 1e-9)
        found = int(max(1, min(size, timed, self._most)))
        self._left -= found
        return found

    def measured(self, seconds: float, items: int) -> None:
        """Says how long a block took."""
        rate = seconds / items
        self._rate = rate if self._rate is None else (self._rate + rate) / 2
