"""The Protocols of the parts that an algorithm is made of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from dp_accounting import DpEvent
from torch import Tensor, nn

from fedward.base.randomness import Source
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.privacy.events import Adjacency
from fedward.privacy.guarantee import Unit
from fedward.privacy.participation import Participation
from fedward.privacy.terms import ExactAttackers

Bounds = tuple[float, ...]
"""The clip bound of each group of coordinates; flat clipping has one group."""

PolicyState = tuple[float, ...]
"""The state that a clip policy carries from round to round."""


def total_bound(bounds: Bounds) -> float:
    """The L2 norm that a row clipped group by group cannot exceed: sqrt(sum of S_l²)."""
    return math.hypot(*bounds)


class Sampler(Protocol):
    """Draws the cohort and knows what that does to privacy. ``str()`` of it stands in errors only."""

    @property
    def adjacency(self) -> Adjacency: ...

    @property
    def exact(self) -> bool:
        """Whether every cohort has exactly the expected size."""

    @property
    def declares_size(self) -> bool:
        """Whether the expected size is a constant of the sampler, whatever the number of users."""

    @property
    def staged(self) -> ExactAttackers | None:
        """The exact number of attackers in every cohort; None where they are drawn like everybody."""

    def check(self, num_users: int) -> None:
        """Raises if this many users cannot be sampled so."""

    def expected_size(self, num_users: int) -> float: ...

    def draw(self, num_users: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The cohort, ascending."""

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        """The event of running ``event`` on the cohort alone."""


@runtime_checkable
class RoundSampler(Protocol):
    """A sampler whose cohorts depend on the round."""

    def at_round(self, round: int) -> Sampler:
        """The sampler of that round."""


@runtime_checkable
class ScheduledSampler(RoundSampler, Protocol):
    """A sampler that keeps every user to a schema of participation."""

    @property
    def participation(self) -> Participation: ...


@runtime_checkable
class EpochSampler(RoundSampler, Protocol):
    """A sampler that draws the cohorts of an epoch together, from one stream, and is charged for all at once.

    Its ``amplify`` gives the event of a whole epoch in the first round, and nothing more in the others.
    """

    @property
    def epoch(self) -> int:
        """How many rounds an epoch has."""


class LocalTrainer(Protocol):
    """What a user does with the model in one round. Equal trainers on equal input give equal updates."""

    def at_round(self, round: int, bounds: Bounds) -> LocalTrainer:
        """The trainer with this round's learning rate and bound written into it."""

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> float | None:
        """Changes ``model.parameters`` in place.

        ``examples`` share the federation's memory: ``examples.batch`` gives copies. A trainer that clips and
        noises its own update may return the norm that it had before.
        """


@runtime_checkable
class Scheduled(Protocol):
    """A local trainer or an adversary that knows in which rounds it could fail; others are tried in all."""

    def decisive_rounds(self, rounds: int) -> Iterable[int]:
        """Of so many rounds some that stand for all: if it can train in these, with any bound that is above
        zero, it can train in every one. The first in which it cannot is among them."""


@runtime_checkable
class PrivateTrainer(Protocol):
    """A local trainer that protects its own user: it clips, and draws noise that nobody else may know."""

    @property
    def unit(self) -> Unit:
        """Whose presence its noise hides: that of one of the user's examples, or of all of its data."""

    @property
    def adjacency(self) -> Adjacency: ...

    @property
    def noise_source(self) -> Source: ...

    def local_event(self, round: int) -> DpEvent:
        """What a round costs a user that takes part."""

    def check_model(self, module: nn.Module, x: Tensor) -> None:
        """Raises if the guarantee does not hold for such a model; ``x`` is a batch of one example."""


class Norm(Protocol):
    """Which groups of coordinates are clipped apart."""

    @property
    def groups(self) -> int: ...

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """How many coordinates each group has, in order; None where it fits any number of them."""

    def measure(self, update: Tensor) -> Bounds:
        """The L2 norm of each group of a finite update."""

    def clip(self, update: Tensor, norms: Bounds, bounds: Bounds) -> Tensor:
        """The update with every group within its bound, never above it."""


class ClipPolicy(Protocol):
    """Which bound a round has, and how it moves.

    It gives one bound for each group of the norm, or one for all of them. A policy that looks at private
    norms pays for it: ``looks`` says how often and with how much noise.
    """

    @property
    def reads_norms(self) -> bool:
        """Whether ``bound`` needs the norms of the same round, so that all rows must be in first."""

    @property
    def per_group(self) -> bool:
        """Whether it can be used with a norm that has several groups."""

    @property
    def unproven(self) -> str:
        """Why no ε covers this policy; empty if one does."""

    def looks(self, round: int) -> tuple[float, ...]:
        """Noise multipliers of the looks that it takes in a round, each relative to the look's own
        sensitivity to one user added or removed."""

    @property
    def replaced_moves(self) -> float:
        """How many times as far one user *replaced* moves a look: proven by the policy, never above 2.

        It is 2 by the triangle inequality (one removed, one added), and less where a look is not symmetric
        about zero. Only asked where there are looks.
        """

    def init(self) -> PolicyState:
        """The policy's state before round 0."""

    def bound(self, policy: PolicyState, round: int, norms: list[Bounds] | None) -> Bounds: ...

    def move(
        self, policy: PolicyState, round: int, bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> PolicyState:
        """The policy's state after a round whose noise has been drawn.

        ``bounds`` is one for each group; ``norms`` are those of the rows before they were clipped. There are
        none in a round without ``looks``, unless the policy is ``unproven``.
        """


class Aggregator(Protocol):
    """Takes clipped rows one after the other."""

    @property
    def needs_all_rows(self) -> bool:
        """Whether it holds all rows until the end, [n, d] at once."""

    @property
    def least_rows(self) -> int:
        """The fewest rows that it can combine; a round with fewer keeps the model."""

    @property
    def missing_as_zero(self) -> bool:
        """Whether a missing or rejected row comes as zeros; otherwise it does not come at all."""

    @property
    def divisor(self) -> float | None:
        """The constant that sums of rows are divided by; None if there is none. Where it is given the sum is
        one of all digits: of rows that are multiples of a power of two, kept in double precision."""

    def sensitivity(self, bound: float, adjacency: Adjacency) -> float | None:
        """How far one user can move the result in L2 norm; None if nothing is proven."""

    def init(self, parameters: Tensor) -> Any:
        """An empty total for rows shaped like ``parameters``."""

    def add(self, total: Any, row: Tensor, num_examples: int) -> Any:
        """Takes one row."""

    def finish(self, total: Any) -> Tensor: ...


class ServerOptimizer(Protocol):
    """What is done with the noisy mean: post-processing, free of charge."""

    def init(self, parameters: Tensor) -> tuple[Tensor, ...]: ...

    def step(
        self, parameters: Tensor, mean: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]: ...


@runtime_checkable
class PublicServer(Protocol):
    """A server step that rests on public data, which the guarantee must name: no ε covers them."""

    @property
    def public_source(self) -> str:
        """These data, in a few words."""

    @property
    def public_labels(self) -> bool:
        """Whether labels of them were used."""

    @property
    def public_digest(self) -> str:
        """A digest of what was made of them."""
