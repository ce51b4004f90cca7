"""No sampling: everybody takes part in every round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedward.base.validate import one_of, whole
from fedward.privacy.accounting_events import DpEvent
from fedward.sampling.cohort import Cohort


@dataclass(frozen=True, kw_only=True)
class EveryoneSampler:
    """All users in every round: no amplification.

    Guarantee: for one user added or removed (the mean is over a declared constant, not over those
    present), or for one user replaced by another.

    Args:
      adjacency: which two federations are neighbours.

    >>> EveryoneSampler().draw(4, np.random.default_rng(0)).tolist()
    [0, 1, 2, 3]
    """

    adjacency: Literal["add/remove", "replace-one"] = "add/remove"

    exact = True
    declares_size = False
    staged = None

    def __post_init__(self) -> None:
        one_of("adjacency", self.adjacency, ["add/remove", "replace-one"])

    def __str__(self) -> str:
        return "everyone in every round"

    def check(self, num_users: int) -> None:
        whole("number of users", num_users)

    def expected_size(self, num_users: int) -> float:
        return float(num_users)

    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        return np.arange(num_users, dtype=np.int64)

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        return event
