"""Random allocation (balls in bins): every user in exactly one, random round of each epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedward.base.validate import whole
from fedward.privacy.accounting_events import DpEvent, NoOpDpEvent, RandomAllocationDpEvent
from fedward.privacy.events import Adjacency
from fedward.sampling.cohort import Cohort


@dataclass(frozen=True, kw_only=True)
class RandomAllocation:
    """Every user takes part once in every E rounds; which round that is, the server draws in secret.

    In each epoch anew, uniformly, and for each user on its own: cohorts are about N/E users, and over an
    epoch nobody is left out and nobody comes twice.

    Guarantee: one user added or removed; the event is that of a whole epoch, charged in its first round. It
    costs less than Poisson sampling with q = 1/E, and never more than a plain Gaussian for each epoch.

    Args:
      epoch: E: rounds, in exactly one of which a user takes part.

    >>> allocation = RandomAllocation(epoch=3)
    >>> [allocation.at_round(t).draw(8, np.random.default_rng(0)).tolist() for t in (0, 1, 2)]
    [[3, 4, 5, 6, 7], [1, 2], [0]]

    Chua et al. 2025; Feldman and Shenfeld 2025.
    """

    epoch: int

    adjacency: ClassVar[Adjacency] = "add/remove"
    exact = False
    declares_size = False
    staged = None

    def __post_init__(self) -> None:
        whole("rounds of an epoch", self.epoch)

    def __str__(self) -> str:
        return f"random allocation, each user in one random round of every {self.epoch:,}"

    def at_round(self, round: int) -> AllottedRound:
        return AllottedRound(allocation=self, round=round)

    def check(self, num_users: int) -> None:
        whole("number of users", num_users)

    def expected_size(self, num_users: int) -> float:
        return num_users / self.epoch

    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        return self.at_round(0).draw(num_users, rng)

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        return self.at_round(0).amplify(event, num_users)


@dataclass(frozen=True, kw_only=True)
class AllottedRound:
    """One round of random allocation.

    Args:
      allocation: the sampler of all rounds.
      round: which round of the training it is.
    """

    allocation: RandomAllocation
    round: int

    adjacency: ClassVar[Adjacency] = "add/remove"
    exact = False
    declares_size = False
    staged = None

    def __post_init__(self) -> None:
        whole("round", self.round, at_least=0)

    def __str__(self) -> str:
        return str(self.allocation)

    def check(self, num_users: int) -> None:
        self.allocation.check(num_users)

    def expected_size(self, num_users: int) -> float:
        return self.allocation.expected_size(num_users)

    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        """The cohort; ``rng`` is the stream of the epoch, the same in all its rounds."""
        allotted = rng.integers(self.allocation.epoch, size=num_users)
        return np.flatnonzero(allotted == self.round % self.allocation.epoch).astype(np.int64)

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        """The event of the whole epoch in its first round, and nothing more in the others."""
        epoch = self.allocation.epoch
        if epoch == 1:
            return event
        return NoOpDpEvent() if self.round % epoch else RandomAllocationDpEvent(epoch, event)
