"""The values that go through a round, and the Protocols of the parts that an algorithm is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from dp_accounting import DpEvent
from torch import Tensor, nn

from fedward.base.randomness import Source
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.plain import as_plain
from fedward.privacy.events import Adjacency
from fedward.privacy.guarantee import Unit
from fedward.privacy.ledger import Ledger
from fedward.privacy.terms import ExactAttackers
from fedward.privacy.user_ledgers import UserLedgers

Bounds = tuple[float, ...]
"""The clip bound of each group of coordinates; flat clipping has one group."""

PolicyState = tuple[float, ...]
"""The state that a clip policy carries from round to round."""

Knowledge = Literal["own", "cohort"]
"""The view of an adversary: its own users' data and rows, or also the cohort and all honest rows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerState:
    """All that one replica needs to go on: what a checkpoint holds.

    ``users`` is what every user has spent on its own device; None where the server protects them. ``draw``
    names the set of replicas that it is one of: see ``fedward.base.randomness``. Its tensors are plain ones,
    whatever class they were given in.
    """

    replica: int
    round: int
    parameters: Tensor
    server: tuple[Tensor, ...]
    policy: PolicyState
    ledger: Ledger
    users: UserLedgers | None = None
    draw: str = ""

    def __post_init__(self) -> None:
        parameters = as_plain("parameters of a state", self.parameters)
        server = tuple(as_plain("tensors of the server's optimiser", each) for each in self.server)
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "server", server)


@dataclass(frozen=True, eq=False, kw_only=True)
class Job:
    """One user's local training: (parameters, user, version of its data, trainer, seed) -> update.

    ``examples`` is None for the user's own data; an adversary's version brings its own, and ``version``
    names it, so that equal jobs can be recognised. ``num_examples`` is what the server knows of the user,
    not what the user claims. A job that draws DP randomness is ``private``: its seed differs by replica, and
    it is never shared.
    """

    parameters: Tensor
    user: int
    num_examples: int
    trainer: LocalTrainer
    seed: int
    version: str = ""
    examples: Examples | None = None
    private: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """What a round is going to do, known before any job runs."""

    round: int
    cohort: np.ndarray[tuple[int], np.dtype[np.int64]]
    jobs: tuple[Job, ...]
    event: DpEvent
    bounds: Bounds
    adversary: Adversary | None


@dataclass(frozen=True, eq=False)
class Row:
    """What came back for one job: an update, or None if the user dropped out.

    Nothing of it is trusted: what ``update`` is and says of itself is settled by ``fedward.core.plain``.
    ``norm`` is that of the update before the user itself clipped and noised it: what a look at norms is
    about where users protect themselves.
    """

    user: int
    update: Any
    norm: float | None = None


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


@dataclass(frozen=True, kw_only=True)
class Telemetry:
    """What a simulation may look at and no ε covers; it is not kept when noise comes from system entropy.

    ``norms`` has one entry for each user of the cohort, in its order; ``malicious`` names the adversary's.
    """

    cohort: tuple[int, ...]
    dropped: int
    rejected: tuple[int, ...]
    norms: tuple[float, ...]
    malicious: tuple[int, ...] = ()

    def norms_of(self, *, malicious: bool) -> tuple[float, ...]:
        """The norms of the adversary's updates, or of all others; a rejected one has none."""
        theirs, rejected = set(self.malicious), set(self.rejected)
        pairs = zip(self.cohort, self.norms, strict=True)
        return tuple(n for user, n in pairs if (user in theirs) == malicious and user not in rejected)


@dataclass(frozen=True, kw_only=True)
class RoundLog:
    """One finished round. ``kept`` says why the model was left as it was; empty if it was not."""

    round: int
    bounds: Bounds
    telemetry: Telemetry | None
    kept: str = ""


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
        """The constant that sums of rows are divided by; None if there is none."""

    def sensitivity(self, bound: float, adjacency: Adjacency) -> float | None:
        """How far one user can move the result in L2 norm; None if nothing is proven."""

    def init(self, parameters: Tensor) -> Any:
        """An empty total for rows shaped like ``parameters``."""

    def add(self, total: Any, row: Tensor, num_examples: int) -> Any:
        """Takes one row."""

    def finish(self, total: Any) -> Tensor: ...


class Noise(Protocol):
    """Noise on the aggregate; its standard deviation is ``multiplier`` times the add/remove sensitivity."""

    @property
    def multiplier(self) -> float: ...

    @property
    def source(self) -> Source: ...

    def draw(self, mean: Tensor, std: float, rng: np.random.Generator) -> Tensor:
        """Noise shaped like ``mean``."""


class ServerOptimizer(Protocol):
    """What is done with the noisy mean: post-processing, free of charge."""

    def init(self, parameters: Tensor) -> tuple[Tensor, ...]: ...

    def step(
        self, parameters: Tensor, mean: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]: ...


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


class Backend(Protocol):
    """Runs jobs. Rows come in the order of the jobs, whatever ran where."""

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]: ...


class Journal(Protocol):
    """Makes a reservation durable before any job of its round runs."""

    def reserve(self, ledger: Ledger, users: UserLedgers | None = None) -> None: ...
