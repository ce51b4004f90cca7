"""A sampler that draws certain users in every round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedward.core.types import Sampler
from fedward.privacy.accounting_events import DpEvent
from fedward.privacy.events import Adjacency
from fedward.privacy.terms import ExactAttackers


@dataclass(frozen=True, kw_only=True)
class AlwaysDrawn:
    """The cohorts of another sampler with some users in each of them.

    It is for claims that gain nothing from the drawing of users: those of users that protect themselves, who
    are taken to be drawn in every round. An exact cohort keeps its size.

    Args:
      sampler: whose cohorts they are.
      users: who is in all of them.
    """

    sampler: Sampler
    users: tuple[int, ...]

    @property
    def adjacency(self) -> Adjacency:
        return self.sampler.adjacency

    @property
    def exact(self) -> bool:
        return self.sampler.exact

    @property
    def declares_size(self) -> bool:
        return self.sampler.declares_size

    @property
    def staged(self) -> ExactAttackers | None:
        return self.sampler.staged

    def check(self, num_users: int) -> None:
        self.sampler.check(num_users)

    def expected_size(self, num_users: int) -> float:
        return self.sampler.expected_size(num_users)

    def draw(self, num_users: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        cohort = self.sampler.draw(num_users, rng)
        always = np.array(self.users, dtype=np.int64)
        others = np.setdiff1d(cohort, always)
        if self.exact:
            others = rng.permutation(others)[: max(0, len(cohort) - len(always))]
            always = always[: len(cohort)]
        return np.sort(np.concatenate([always, others])).astype(np.int64)

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        return self.sampler.amplify(event, num_users)
