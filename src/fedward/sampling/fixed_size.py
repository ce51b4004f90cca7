"""Sampling of a fixed size, without replacement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedward.base.validate import InvalidValue, whole
from fedward.privacy.accounting_events import DpEvent, SampledWithoutReplacementDpEvent
from fedward.privacy.events import Adjacency
from fedward.sampling.cohort import Cohort


@dataclass(frozen=True, kw_only=True)
class FixedSizeSampler:
    """Exactly m users, drawn without replacement.

    Guarantee: one user replaced by another, never one added or removed (the cohort would not keep its
    size); a mean has twice the sensitivity then. Accounted by ``rdp``; ``pld`` has no proof for it;
    ``moments`` reads it as the papers do, as Poisson sampling with q = m/N, and says so.

    Args:
      size: m: how many users take part; at most as many as there are.

    >>> FixedSizeSampler(size=3).draw(20, np.random.default_rng(0)).tolist()
    [10, 12, 15]

    Wang, Balle, Kasiviswanathan 2019.
    """

    size: int

    adjacency: ClassVar[Adjacency] = "replace-one"
    exact = True
    declares_size = True
    staged = None

    def __post_init__(self) -> None:
        whole("cohort size", self.size)

    def __str__(self) -> str:
        return f"fixed-size sampling m = {self.size}"

    def check(self, num_users: int) -> None:
        if self.size > num_users:
            raise InvalidValue(
                f"cohort size must be at most the number of users, {num_users}, got {self.size}"
            )

    def expected_size(self, num_users: int) -> float:
        return float(self.size)

    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        self.check(num_users)
        return np.sort(rng.choice(num_users, size=self.size, replace=False)).astype(np.int64)

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        self.check(num_users)
        return (
            event if self.size == num_users else SampledWithoutReplacementDpEvent(num_users, self.size, event)
        )
