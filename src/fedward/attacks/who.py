"""The choices of the users who attack: by name, at random, or a fixed number in every cohort."""

from __future__ import annotations

import numbers
from dataclasses import dataclass

import numpy as np

from fedward.attacks.attack_types import Who
from fedward.base.validate import InvalidType, InvalidValue, nearest, whole
from fedward.core.federation import Federation


@dataclass(frozen=True, kw_only=True)
class NamedUsers:
    """The users of these names; they are sampled like everybody else.

    Args:
      users: names as the data has them (``federation.names``): whole numbers or text.

    >>> federation = Federation.from_arrays([[0.1], [0.2], [0.3]], [0, 1, 0], ["ann", "bob", "eve"])
    >>> sorted(NamedUsers(users=("bob", "eve")).choose(federation, np.random.default_rng(0)))
    [1, 2]
    """

    users: tuple[int | str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.users, tuple) or not all(
            isinstance(user, numbers.Integral | str) and not isinstance(user, bool) for user in self.users
        ):
            raise InvalidType(f"attackers must be a tuple of names of users, got {self.users!r}")
        seen: set[str] = set()
        for name in map(str, self.users):  # 3 and "3" are the same user
            if name in seen:
                raise InvalidValue(f"attackers must not repeat a user, got {name!r} twice")
            seen.add(name)

    @property
    def per_cohort(self) -> int | None:
        return None

    def choose(self, federation: Federation, rng: np.random.Generator) -> frozenset[int]:
        _check_number(len(self.users), federation)
        number = {str(name): user for user, name in enumerate(federation.names.tolist())}
        for user in self.users:
            if str(user) not in number:
                raise InvalidValue(
                    f"attacker {user!r} is not among the {federation.num_users} users"
                    f"{nearest(str(user), number)}"
                )
        return frozenset(number[str(user)] for user in self.users)


@dataclass(frozen=True, kw_only=True)
class RandomUsers:
    """So many users, drawn once from the seed; they are sampled like everybody else.

    Args:
      count: k, how many attack; 0 for a training in which nobody does.

    >>> federation = Federation.from_arrays([[0.1], [0.2], [0.3]], [0, 1, 0], ["ann", "bob", "eve"])
    >>> len(RandomUsers(count=2).choose(federation, np.random.default_rng(0)))
    2
    """

    count: int

    def __post_init__(self) -> None:
        whole("number of attackers", self.count, at_least=0)

    @property
    def per_cohort(self) -> int | None:
        return None

    def choose(self, federation: Federation, rng: np.random.Generator) -> frozenset[int]:
        _check_number(self.count, federation)
        return frozenset(rng.choice(federation.num_users, size=self.count, replace=False).tolist())


@dataclass(frozen=True, kw_only=True)
class PerCohort:
    """So many users, drawn once from the seed, of whom exactly P_m are in every cohort.

    The server's sampling is not what it declares then. Certificates assume that every user, an attacker
    too, is drawn with the declared probability: this lies outside of them, and every guarantee says so.

    Args:
      count: P, how many attack.
      each: P_m, how many of them every cohort has.
      attacked_rounds_only: whether only the cohorts of the attack's ``rounds`` have them; in others attackers
        are drawn like everybody. All cohorts have them if not given.

    >>> PerCohort(count=2, each=3)
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: attackers in every cohort must be at most the number of attackers, \
2, got 3

    Miao et al., section 3.1.
    """

    count: int
    each: int
    attacked_rounds_only: bool | None = None

    def __post_init__(self) -> None:
        whole("number of attackers", self.count, at_least=0)
        whole("attackers in every cohort", self.each, at_least=0)
        if self.each > self.count:
            raise InvalidValue(
                f"attackers in every cohort must be at most the number of attackers, {self.count}, "
                f"got {self.each}"
            )
        if not isinstance(self.attacked_rounds_only, bool | None):
            raise InvalidType(
                f"attacked rounds only must be true or false, got {self.attacked_rounds_only!r}"
            )

    @property
    def per_cohort(self) -> int | None:
        return self.each

    def choose(self, federation: Federation, rng: np.random.Generator) -> frozenset[int]:
        _check_number(self.count, federation)
        return frozenset(rng.choice(federation.num_users, size=self.count, replace=False).tolist())


def _check_number(attackers: int, federation: Federation) -> None:
    if attackers > federation.num_users:
        raise InvalidValue(
            "number of attackers must be at most the number of users, "
            f"{federation.num_users}, got {attackers}"
        )


WHO: dict[str, type[Who]] = {
    "named": NamedUsers,
    "random": RandomUsers,
    "per_cohort": PerCohort,
}
"""The ways to say who attacks, by the names that experiment files use."""
