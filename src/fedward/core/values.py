"""The values that go through a round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from dp_accounting import DpEvent
from torch import Tensor

from fedward.base.randomness import system_seed
from fedward.core.adversary import Adversary
from fedward.core.examples import Examples
from fedward.core.mechanism import MechanismState
from fedward.core.parts import Bounds, LocalTrainer, PolicyState
from fedward.core.plain import as_plain
from fedward.core.watching import Memory
from fedward.privacy.ledger import Ledger
from fedward.privacy.user_ledgers import UserLedgers


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerState:
    """All that one replica needs to go on: what a checkpoint holds.

    ``users`` is what every user has spent on its own device; None where the server protects them. ``draw``
    names the set of replicas that it is one of: see ``fedward.base.randomness``. ``mechanism`` is what the
    noise of later rounds depends on, and as secret as the noise. ``coins`` is what system entropy has given
    to draw the cohorts of this epoch with, where they are drawn together; as secret as they are. ``memory``
    is what an aggregator remembers of earlier rounds, ``previous`` the model of the round before, where
    attackers look at it. Tensors are plain ones, whatever class they were given in.
    """

    replica: int
    round: int
    parameters: Tensor
    server: tuple[Tensor, ...]
    policy: PolicyState
    ledger: Ledger
    users: UserLedgers | None = None
    draw: str = ""
    mechanism: MechanismState = ()
    coins: str = ""
    memory: Memory = ()
    previous: tuple[Tensor, ...] = ()

    def __post_init__(self) -> None:
        parameters = as_plain("parameters of a state", self.parameters)
        server = tuple(as_plain("tensors of the server's optimiser", each) for each in self.server)
        mechanism = tuple(as_plain("tensors of the mechanism", each) for each in self.mechanism)
        memory = tuple(as_plain("tensors of the aggregator", each) for each in self.memory)
        previous = tuple(as_plain("model of the round before", each) for each in self.previous)
        object.__setattr__(self, "memory", memory)
        object.__setattr__(self, "previous", previous)
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "server", server)
        object.__setattr__(self, "mechanism", mechanism)


@dataclass(frozen=True, eq=False, kw_only=True)
class Job:
    """One user's local training: (parameters, user, version of its data, trainer, seed) -> update.

    ``examples`` is None for the user's own data; an adversary's version brings its own, and ``version``
    names it, so that equal jobs can be recognised. ``num_examples`` is what the server knows of the user,
    not what the user claims. A job that draws DP randomness is ``private``: it is never shared, and its seed
    differs by replica, where that is for research; otherwise there is none in the job, and the user draws one
    that nobody else knows. ``round`` is for messages: equal jobs are equal in any round.
    """

    parameters: Tensor
    user: int
    num_examples: int
    trainer: LocalTrainer
    seed: int | None
    version: str = ""
    examples: Examples | None = None
    private: bool = False
    round: int | None = None

    def draw_seed(self) -> int:
        """The seed to train with, for whoever is the user: the job's, or one from system entropy."""
        return system_seed() if self.seed is None else self.seed


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """What a round is going to do, known before any job runs.

    ``previous`` is the model of the round before, for an adversary that compares the two.
    """

    round: int
    cohort: np.ndarray[tuple[int], np.dtype[np.int64]]
    jobs: tuple[Job, ...]
    event: DpEvent
    bounds: Bounds
    adversary: Adversary | None
    previous: Tensor | None = None


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
