"""The Protocol of an adversary, and its view of a round."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from torch import Tensor

from fedward.core.examples import Examples
from fedward.core.parts import Bounds, LocalTrainer
from fedward.core.watching import Memory

Knowledge = Literal["own", "cohort"]
"""The view of an adversary: its own users' data and rows, or also the cohort and all honest rows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Sight:
    """What an adversary sees of a round before its users send: never noise, never more than it may know.

    ``parameters`` and ``bounds`` are what every user was sent. ``own`` holds the updates of its own users
    as they were trained. ``cohort`` and ``honest`` (the other users' updates, one a row) are None for an
    adversary that knows its own only; rows are there only if it asked for all of them, and without what
    the server would reject. ``honest_users`` says whose they are. ``memory`` is what the server's aggregator
    remembers of earlier rounds, for an adversary that knows the cohort: whoever saw all rows of those rounds
    could have worked it out. ``previous`` is the model of the round before, for an adversary that compares
    the two; None in round 0. All tensors are copies: writing into them changes nobody's row.

    ``agreed`` is where users of one adversary, who are all given this very sight, leave each other what they
    have worked out from it. It is empty when the round begins, and ends with the round.
    """

    round: int
    parameters: Tensor
    bounds: Bounds
    own: Mapping[int, Tensor]
    cohort: tuple[int, ...] | None = None
    honest: Tensor | None = None
    honest_users: tuple[int, ...] = ()
    memory: Memory = ()
    previous: Tensor | None = None
    agreed: dict[Hashable, Any] = field(default_factory=dict, repr=False, init=False)


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


@runtime_checkable
class ComparingAdversary(Protocol):
    """An adversary that may look at the model of the round before beside that of this one."""

    @property
    def compares_models(self) -> bool: ...


@runtime_checkable
class InformedAdversary(Protocol):
    """An adversary whose data, or way to train, follows from more than is known when jobs are planned."""

    def at_model(self, round: int, parameters: Tensor) -> Adversary:
        """The same for a round that begins with this model, which all of its users were sent."""

    def brief(
        self,
        trainer: LocalTrainer,
        user: int,
        examples: Examples,
        round: int,
        rng: np.random.Generator,
        moved: Tensor | None,
    ) -> LocalTrainer:
        """The trainer, told which of the user's examples are bad, and how the model has moved since the round
        before; None in round 0, and where nobody looks at it. ``rng`` is as for ``poison``."""


def compares_models(adversary: Adversary | None) -> bool:
    """Whether the model of the round before must be kept for it."""
    return isinstance(adversary, ComparingAdversary) and adversary.compares_models
