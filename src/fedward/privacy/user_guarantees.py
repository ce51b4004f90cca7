"""The guarantees of users that have spent differently: the distribution of their ε."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.privacy.guarantee import Guarantee
from fedward.privacy.rounding import epsilon_text


@dataclass(frozen=True, eq=False, kw_only=True)
class Guarantees:
    """Guarantees that differ by user: each one there is, and how many users have it.

    >>> from fedward.privacy.user_ledgers import UserLedgers
    >>> from dp_accounting import GaussianDpEvent
    >>> ledgers = UserLedgers.new(3, unit="user", adjacency="local")
    >>> print(ledgers.reserve(0, np.array([1]), GaussianDpEvent(10.0)).guarantees(1e-5, "rdp"))
    ε of a user: median 0.0000, largest 0.3753 (2 different, 3 users)
    """

    each: tuple[Guarantee, ...]
    users: NDArray[np.int64]

    @property
    def worst(self) -> Guarantee:
        """The largest: what is guaranteed about the released models to whomever (theorem 4 of Xie et al.)."""
        return max(self.each, key=lambda guarantee: (not guarantee.private, guarantee.epsilon))

    @property
    def median(self) -> float:
        """The ε that half of the users do not exceed."""
        passed = 0
        for epsilon, users in self.histogram():
            passed += users
            if 2 * passed >= self.users.sum():
                return epsilon
        raise AssertionError("there is at least one user")

    def histogram(self) -> Iterator[tuple[float, int]]:
        """Each ε with the number of users that have it, ascending; users without one have an infinite ε."""
        counts: Counter[float] = Counter()
        for guarantee, users in zip(self.each, self.users.tolist(), strict=True):
            counts[guarantee.epsilon] += users
        return iter(sorted(counts.items()))

    def to_json(self) -> dict[str, Any]:
        """The distribution as plain values; no ε is null."""
        histogram = [[epsilon if math.isfinite(epsilon) else None, n] for epsilon, n in self.histogram()]
        median = self.median
        return {
            "median": median if math.isfinite(median) else None,
            "largest": self.worst.epsilon if self.worst.private else None,
            "histogram": histogram,
        }

    def __str__(self) -> str:
        """The distribution in one line."""
        worst = self.worst
        if not worst.private:
            return str(worst)
        return (
            f"ε of a user: median {epsilon_text(self.median)}, largest {epsilon_text(worst.epsilon)} "
            f"({len(list(self.histogram()))} different, {int(self.users.sum()):,} users)"
        )
