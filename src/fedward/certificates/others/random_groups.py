"""FLCert with random groups: the expected vote of models that are trained on random sets of users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedward.base.randomness import stream
from fedward.base.validate import InvalidValue, one_of, whole
from fedward.certificates.largest_k import largest
from fedward.privacy.group import THREATS, Threat

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# What rounding may have done to a product of so many factors.
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class RandomGroups:
    """Each model is trained on s of N users, drawn without replacement, independently of all others.

        untouched        r(k) = C(N - k, s) / C(N, s)            (inject: C(N, s) / C(N + k, s))
        inject           r p_A           > r p_B + 1 - r
        present          p_A - (1 - r)   > p_B
        compromise       p_A - (1 - r)   > p_B + 1 - r

    p_A is the probability that a model votes for the class on top, p_B the largest one of any other class,
    both over the drawing of users. They are bounded from M models, with confidence (Clopper and Pearson).

    Guarantee: about the *expected* vote, as fedward's own certificates are. A set without attackers gives
    the model that it always gave; whatever the others give is granted to the attackers. Attackers may send
    anything in all rounds. It needs no noise, no clipping and no particular rule, and promises no privacy:
    no ε. The server must draw sets at random, and nobody else may choose them.

    It is as large as it can be for *compromise* but for rounding to whole numbers of sets.

    Args:
      size: s, how many users a model is trained on.

    >>> RandomGroups(size=10).attackers([0.99, 0.8], [0.01, 0.2], users=539, threat="compromise").tolist()
    [34, 18]

    Cao, Jia and Gong 2021; Cao, Zhang, Jia and Gong 2022 (FLCert-P). Theirs is *compromise*; the bounds for
    users who join, and who may be there already, are ours, by the same argument.
    """

    size: int

    name: ClassVar[str] = "flcert_random"

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", int(whole("number of users in a group", self.size)))

    def __str__(self) -> str:
        return f"FLCert, random groups of {self.size}"

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "size": self.size}

    def require_fits(self, users: int) -> None:
        """Refuses groups with more users than there are."""
        if self.size > users:
            raise InvalidValue(
                f"users in a random group must be at most the {users} that there are, got {self.size}"
            )

    def members(self, model: int, users: int, seed: int, draw: str) -> tuple[int, ...]:
        """The users that a model is trained on, ascending; from a stream of its own."""
        self.require_fits(users)
        rng = stream(seed, "group", replica=model, draw=draw)
        return tuple(sorted(rng.choice(users, size=self.size, replace=False).tolist()))

    def untouched(self, k: int, users: int, threat: Threat) -> float:
        """The probability that a set holds none of k attackers, rounded down.

        >>> round(RandomGroups(size=2).untouched(1, users=4, threat="compromise"), 6)  # 3 of 6 sets
        0.5
        """
        one_of("threat", threat, THREATS)
        self.require_fits(users)
        there = users + k if threat == "inject" else users
        # C(there - k, s) / C(there, s), a factor for each user of the set.
        factors = [(there - k - i) / (there - i) for i in range(self.size)]
        return float(np.prod(factors)) * (1.0 - _ROUNDING) if min(factors) > 0 and k else float(not k)

    def least(self, top: ArrayLike, k: int, users: int, threat: Threat) -> Floats:
        """A lower bound on the probability under the threat of the class on top."""
        p, r = np.asarray(top, dtype=np.float64), self.untouched(k, users, threat)
        if threat == "inject":
            return np.asarray(r * p)
        kept = np.maximum(0.0, p - (1.0 - r))
        return np.asarray(kept if threat == "compromise" else np.minimum(1.0, kept / r) if r else 0.0 * kept)

    def most(self, runner_up: ArrayLike, k: int, users: int, threat: Threat) -> Floats:
        """An upper bound on the probability under the threat of any other class."""
        p, r = np.asarray(runner_up, dtype=np.float64), self.untouched(k, users, threat)
        if threat == "inject":
            return np.asarray(np.minimum(1.0, r * p + (1.0 - r)))
        if threat == "compromise":
            return np.asarray(np.minimum(1.0, p + (1.0 - r)))
        return np.asarray(np.minimum(1.0, p / r) if r else np.ones_like(p))

    def attackers(
        self, top: ArrayLike, runner_up: ArrayLike, *, users: int, threat: Threat, most: int | None = None
    ) -> Integers:
        """The largest k for which each prediction is certified; -1 if not even the clean one is.

        Args:
          top: lower bounds on p_A, one for each example.
          runner_up: upper bounds on p_B.
          users: N.
          threat: inject, present or compromise.
          most: the last k to try; N if not given.
        """
        best, second = np.asarray(top, dtype=np.float64), np.asarray(runner_up, dtype=np.float64)

        def holds(k: int, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
            least = self.least(best[asked], k, users, threat)
            return np.asarray(least > self.most(second[asked], k, users, threat))

        return largest(holds, best > second, users if most is None else most)
