"""FLCert with disjoint groups: a model for each group of users, and a vote of all models."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedward.base.validate import InvalidValue, whole

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class DisjointGroups:
    """Users are put into G groups by a digest of their names, each group trains a model of its own.

        group of u = digest(seed, name of u) mod G        prediction = most votes, the smaller class in a tie
        k = ⌊ min over z ≠ y of (n_y - n_z - [z < y]) / 2 ⌋     with n_y of G votes for the class y on top

    Guarantee: certain, for the very models that were trained. An attacker is in one group, which its name
    decides and nobody else's does. So k attackers change at most k votes, whatever they send, in whatever
    rounds, and whether they join (inject), were there (present) or replace users who keep their names
    (compromise). It needs no noise, no clipping and no particular rule, and promises no privacy: no ε.
    It is as large as it can be: where k + 1 groups may vote as they like, the class on top can be changed.

    It assumes that nothing of a user reaches another group: models start from one initial model, features
    are public, and no constant of a training follows the number of all users.

    Args:
      groups: G; as many trainings, and as many models that must be kept and asked.

    >>> DisjointGroups(groups=5).attackers([[4, 1], [1, 4], [3, 2], [2, 3], [0, 0]]).tolist()
    [1, 1, 0, 0, -1]

    Cao, Zhang, Jia and Gong 2022 (FLCert-D).
    """

    groups: int

    name: ClassVar[str] = "flcert"

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", int(whole("number of groups", self.groups, at_least=2)))

    def __str__(self) -> str:
        return f"FLCert, {self.groups} disjoint groups"

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "groups": self.groups}

    def group_of(self, name: Any, seed: int) -> int:
        """The group of a user: it follows from the user's own name and from nothing else.

        >>> found = [DisjointGroups(groups=3).group_of(name, seed=1) for name in ("ann", "bob", 7)]
        >>> found == [DisjointGroups(groups=3).group_of(name, seed=1) for name in ("ann", "bob", 7)]
        True
        """
        text = f"fedward group/{seed}/{name}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") % self.groups

    def members(self, names: ArrayLike, seed: int) -> tuple[tuple[int, ...], ...]:
        """The users of each group, by number; a group may have none."""
        found: list[list[int]] = [[] for _ in range(self.groups)]
        for number, name in enumerate(np.asarray(names).tolist()):
            found[self.group_of(name, seed)].append(number)
        return tuple(map(tuple, found))

    def attackers(self, counts: ArrayLike) -> Integers:
        """The most attackers that provably cannot change the class with most votes; -1 if nobody voted.

        Args:
          counts: ``[n, C]``, how many groups vote for which class.
        """
        votes = np.asarray(counts, dtype=np.int64)
        if votes.ndim != 2 or votes.shape[1] < 2 or (votes < 0).any():
            raise InvalidValue(f"votes must be [examples, classes] and at least 0, got shape {votes.shape}")
        if bool((votes.sum(axis=1) > self.groups).any()):
            raise InvalidValue(f"votes must be at most one of each of {self.groups} groups")
        rows, top = np.arange(len(votes)), votes.argmax(axis=1)  # the smallest class in a tie
        # A smaller class wins ties, and so needs one vote less.
        rivals = votes + (np.arange(votes.shape[1]) < top[:, None])
        rivals[rows, top] = -1
        found = (votes[rows, top] - rivals.max(axis=1)) // 2
        return np.where(votes[rows, top] > 0, found, -1).astype(np.int64)
