"""The Protocol of a mechanism, and what it is told: the sensitivity of a round, and how cohorts are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from dp_accounting import ComposedDpEvent, DpEvent, GaussianDpEvent
from torch import Tensor

from fedward.base.randomness import Source
from fedward.core.parts import Sampler
from fedward.privacy.participation import Participation

MechanismState = tuple[Tensor, ...]
"""The state that a mechanism carries from round to round."""


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """How far one user added or removed moves the aggregate of a round in L2 norm: ``row * share``.

    Args:
      row: the norm that a clipped row cannot exceed.
      share: how far the aggregate moves with one row of norm 1, such as 1/m̄.

    >>> Sensitivity(row=0.5, share=0.1).times(2.0)
    0.1
    """

    row: float
    share: float

    def times(self, multiplier: float) -> float:
        """The standard deviation of noise with this multiplier."""
        return multiplier * self.row * self.share


@dataclass(frozen=True, kw_only=True)
class Cohorts:
    """How the cohorts are drawn that a mechanism's event is about, and what else is released of each.

    Args:
      looks: noise multipliers, for the sampler's adjacency, of the clip policy's looks at the same cohort.
    """

    sampler: Sampler
    num_users: int
    looks: tuple[float, ...] = ()

    def amplify(self, event: DpEvent) -> DpEvent:
        """The event of drawing one cohort, running ``event`` on it and looking at its norms."""
        looks = map(GaussianDpEvent, self.looks)
        together = ComposedDpEvent([event, *looks]) if self.looks else event
        return self.sampler.amplify(together, self.num_users)


class Mechanism(Protocol):
    """What turns a clipped aggregate into a private one: its noise, its state between rounds, its event.

    A mechanism is charged for every round, or once for a whole training: noise that is correlated over rounds
    protects them together only. Its state is kept in ``ServerState`` and in checkpoints, and like the noise
    that it is made of it must stay with the server.
    """

    @property
    def multiplier(self) -> float:
        """Standard deviation of what it draws, divided by the add/remove sensitivity; 0 if it adds none."""

    @property
    def source(self) -> Source: ...

    @property
    def whole_training(self) -> int | None:
        """How many rounds its one event covers, where that is charged before the first of them; a training
        may not have more. None where every round is charged for itself."""

    def init(self, parameters: Tensor) -> MechanismState:
        """The state before round 0. In every round it has as many tensors, of the same shapes."""

    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        """The private aggregate of a round, and the state after it.

        ``rng`` is the stream of the round's noise; with the source ``system`` every bit comes from the
        operating system instead. ``state`` is not written to: a round may be done again from it.
        """

    def event(self, ratio: float, cohorts: Cohorts) -> DpEvent:
        """What it costs: one round, or the ``whole_training``, with what is gained from drawing cohorts.

        ``ratio`` is the add/remove sensitivity divided by that for the sampler's adjacency: 1 or 1/2. It is
        asked only where noise is added.
        """


@runtime_checkable
class SchemaMechanism(Protocol):
    """A mechanism whose event holds only for users that keep to a schema of participation."""

    @property
    def participation(self) -> Participation: ...
