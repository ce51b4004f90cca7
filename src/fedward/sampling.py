"""Who takes part in a round, and how that draw amplifies privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from dp_accounting import DpEvent, PoissonSampledDpEvent, SampledWithoutReplacementDpEvent

from fedward.core.types import Sampler
from fedward.core.validate import InvalidValue, one_of, rate, whole
from fedward.privacy.events import Adjacency

Cohort = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, kw_only=True)
class PoissonSampler:
    """Every user takes part with probability q, independently of all others.

    Guarantee: one user added or removed; the event is the Poisson-sampled one. An empty cohort is possible
    and is a round like any other.

    >>> PoissonSampler(rate=0.1).draw(20, np.random.default_rng(0)).tolist()
    [2, 3, 11, 13]

    Abadi et al. 2016; Mironov, Talwar, Zhang 2019.
    """

    rate: float

    declares_size = False
    staged = None

    def __post_init__(self) -> None:
        rate("sampling rate", self.rate)

    def __str__(self) -> str:
        return f"Poisson sampling q = {self.rate:g}"

    @property
    def adjacency(self) -> Adjacency:
        return "add/remove"

    @property
    def exact(self) -> bool:
        return False

    def check(self, num_users: int) -> None:
        whole("number of users", num_users)

    def expected_size(self, num_users: int) -> float:
        return self.rate * num_users

    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        return np.flatnonzero(rng.random(num_users) < self.rate).astype(np.int64)

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        return event if self.rate == 1 else PoissonSampledDpEvent(self.rate, event)


@dataclass(frozen=True, kw_only=True)
class FixedSizeSampler:
    """Exactly m users, drawn without replacement.

    Guarantee: one user replaced by another, never one added or removed (the cohort would not keep its
    size); a mean has twice the sensitivity then. Accounted by ``rdp``; ``pld`` has no proof for it;
    ``moments`` reads it as the papers do, as Poisson sampling with q = m/N, and says so.

    >>> FixedSizeSampler(size=3).draw(20, np.random.default_rng(0)).tolist()
    [10, 12, 15]

    Wang, Balle, Kasiviswanathan 2019.
    """

    size: int

    declares_size = True
    staged = None

    def __post_init__(self) -> None:
        whole("cohort size", self.size)

    def __str__(self) -> str:
        return f"fixed-size sampling m = {self.size}"

    @property
    def adjacency(self) -> Adjacency:
        return "replace-one"

    @property
    def exact(self) -> bool:
        return True

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


@dataclass(frozen=True, kw_only=True)
class EveryoneSampler:
    """All users in every round: no amplification.

    Guarantee: for one user added or removed (the mean is over a declared constant, not over those
    present), or for one user replaced by another.

    >>> EveryoneSampler().draw(4, np.random.default_rng(0)).tolist()
    [0, 1, 2, 3]
    """

    adjacency: Literal["add/remove", "replace-one"] = "add/remove"

    declares_size = False
    staged = None

    def __post_init__(self) -> None:
        one_of("adjacency", self.adjacency, ["add/remove", "replace-one"])

    def __str__(self) -> str:
        return "everyone in every round"

    @property
    def exact(self) -> bool:
        return True

    def check(self, num_users: int) -> None:
        whole("number of users", num_users)

    def expected_size(self, num_users: int) -> float:
        return float(num_users)

    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        return np.arange(num_users, dtype=np.int64)

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        return event


SAMPLERS: dict[str, type[Sampler]] = {
    "poisson": PoissonSampler,
    "fixed_size": FixedSizeSampler,
    "everyone": EveryoneSampler,
}
