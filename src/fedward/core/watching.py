"""Aggregators that watch rounds: who sent a row, what the model was, and what earlier rounds have shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from torch import Tensor

Memory = tuple[Tensor, ...]
"""What a watching aggregator carries from round to round; it lies in checkpoints."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Watched:
    """What such an aggregator is told beside the rows of a round.

    ``users`` are those of the rows, in their order; ``parameters`` is the model that they were sent. ``rng``
    is the server's own, apart from all other streams; attackers do not know what it will give.
    """

    round: int
    users: tuple[int, ...]
    parameters: Tensor
    memory: Memory
    rng: np.random.Generator


@runtime_checkable
class WatchingAggregator(Protocol):
    """An aggregator whose result depends on more than the rows of one round."""

    @property
    def root_user(self) -> int | None:
        """The user whose data are the server's own: it is in every cohort, and no attacker; None if there is
        none."""

    @property
    def own_noise(self) -> str:
        """Why no ε covers the noise that it adds itself; empty if it adds none."""

    def first_memory(self, parameters: Tensor) -> Memory:
        """The memory before round 0."""

    def finish_watched(self, total: Any, watched: Watched) -> tuple[Tensor, Memory]:
        """The result of a round, and the memory after it."""
