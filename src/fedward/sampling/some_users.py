"""Some users only: a group that trains a model of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedward.base.validate import InvalidValue
from fedward.core.types import RoundSampler, Sampler
from fedward.privacy.accounting_events import DpEvent
from fedward.privacy.events import Adjacency
from fedward.sampling.cohort import Cohort
from fedward.sampling.everyone import EveryoneSampler


@dataclass(frozen=True, kw_only=True)
class SomeUsersSampler:
    """The users of one group, drawn among themselves as another sampler says; nobody else ever takes part.

    Args:
      users: their numbers, ascending; there may be none.
      among: how cohorts are drawn from them.

    >>> SomeUsersSampler(users=(2, 5)).draw(8, np.random.default_rng(0)).tolist()
    [2, 5]
    """

    users: tuple[int, ...]
    among: Sampler = field(default_factory=EveryoneSampler)

    staged = None

    def __post_init__(self) -> None:
        if list(self.users) != sorted(set(self.users)) or min(self.users, default=0) < 0:
            raise InvalidValue("users of a group must be different numbers from 0 on, ascending")
        if isinstance(self.among, RoundSampler) or self.among.staged is not None:
            raise InvalidValue(
                "users of a group must be drawn in each round for itself and all alike (poisson, fixed_size, "
                f"everyone), got {self.among}"
            )

    def __str__(self) -> str:
        return f"{len(self.users)} users, of them {self.among}"

    @property
    def adjacency(self) -> Adjacency:
        return self.among.adjacency

    @property
    def exact(self) -> bool:
        return self.among.exact

    @property
    def declares_size(self) -> bool:
        return self.among.declares_size

    def check(self, num_users: int) -> None:
        if self.users and self.users[-1] >= num_users:
            raise InvalidValue(f"users of a group must be from 0 to {num_users - 1}, got {self.users[-1]}")
        if self.users:
            self.among.check(len(self.users))

    def expected_size(self, num_users: int) -> float:
        return self.among.expected_size(len(self.users)) if self.users else 0.0

    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        if not self.users:
            return np.zeros(0, dtype=np.int64)
        return np.array(self.users, dtype=np.int64)[self.among.draw(len(self.users), rng)]

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        return self.among.amplify(event, max(1, len(self.users)))
