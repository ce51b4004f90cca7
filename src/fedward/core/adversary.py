"""The Protocol of an adversary, and its view of a round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from torch import Tensor

from fedward.core.examples import Examples
from fedward.core.parts import Bounds, LocalTrainer

Knowledge = Literal["own", "cohort"]
"""The view of an adversary: its own users' data and rows, or also the cohort and all honest rows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Sight:
    """What an adversary sees of a round before its users send: never noise, never more than it may know.

    ``parameters`` and ``bounds`` are what every user was sent. ``own`` holds the updates of its own users
    as they were trained. ``cohort`` and ``honest`` (the other users' updates, one a row) are None for an
    adversary that knows its own only; rows are there only if it asked for all of them, and without what
    the server would reject. All tensors are copies: writing into them changes nobody's row.
    """

    round: int
    parameters: Tensor
    bounds: Bounds
    own: Mapping[int, Tensor]
    cohort: tuple[int, ...] | None = None
    honest: Tensor | None = None


class Adversary(Protocol):
    """Users that do not follow the protocol. It touches its own users' data and rows only."""

    @property
    def users(self) -> frozenset[int]: ...

    @property
    def knowledge(self) -> Knowledge:
        """How much of a round it is shown: see ``Sight``."""

    @property
    def needs_all_rows(self) -> bool:
        """Whether ``tamper`` reads other rows than the user's own, so that all must be in first."""

    @property
    def rounds(self) -> tuple[int, ...] | None:
        """The rounds in which it does not follow the protocol, counted from 0; None for all of them."""

    @property
    def per_cohort(self) -> int | None:
        """How many of its users are in every cohort; None if they are sampled like everybody else."""

    def poison(
        self, user: int, examples: Examples, round: int, rng: np.random.Generator
    ) -> tuple[str, Examples] | None:
        """The data that ``user`` trains on instead, and the name of that version; None to leave it.

        ``rng`` depends on the user alone: bad data is the same in every round and replica.
        """

    def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
        """What its users train with instead of the round's ``trainer``."""

    def tamper(self, user: int, update: Tensor, sight: Sight, rng: np.random.Generator) -> Any:
        """What ``user`` sends instead of its update."""
