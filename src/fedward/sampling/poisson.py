"""Poisson sampling: every user by a coin of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedward.base.validate import rate, whole
from fedward.privacy.accounting_events import DpEvent, PoissonSampledDpEvent
from fedward.privacy.events import Adjacency
from fedward.sampling.cohort import Cohort


@dataclass(frozen=True, kw_only=True)
class PoissonSampler:
    """Every user takes part with probability q, independently of all others.

    Guarantee: one user added or removed; the event is the Poisson-sampled one. An empty cohort is possible
    and is a round like any other.

    Args:
      rate: q: the probability with which a user takes part.

    >>> PoissonSampler(rate=0.1).draw(20, np.random.default_rng(0)).tolist()
    [2, 3, 11, 13]

    Abadi et al. 2016; Mironov, Talwar, Zhang 2019.
    """

    rate: float

    adjacency: ClassVar[Adjacency] = "add/remove"
    exact = False
    declares_size = False
    staged = None

    def __post_init__(self) -> None:
        rate("sampling rate", self.rate)

    def __str__(self) -> str:
        return f"Poisson sampling q = {self.rate:g}"

    def check(self, num_users: int) -> None:
        whole("number of users", num_users)

    def expected_size(self, num_users: int) -> float:
        return self.rate * num_users

    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        return np.flatnonzero(rng.random(num_users) < self.rate).astype(np.int64)

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        return event if self.rate == 1 else PoissonSampledDpEvent(self.rate, event)
