"""Ways to deal examples out to users. Every example has at most one owner, so users never overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue, one_of, positive, whole

Owners = NDArray[np.int64]
T = TypeVar("T")

DRAWS = 1000
"""The most draws of a Dirichlet split until one leaves no user empty."""


def iid(num_examples: int, users: int, rng: np.random.Generator) -> Owners:
    """Deals the shuffled examples out: sizes differ by at most one.

    >>> np.bincount(iid(10, 4, np.random.default_rng(0))).tolist()
    [3, 3, 2, 2]
    """
    _check_users(users, num_examples)
    return rng.permutation(np.arange(num_examples, dtype=np.int64) % users)


def dirichlet(labels: NDArray[Any], users: int, alpha: float, rng: np.random.Generator) -> Owners:
    """Skews labels: each class is shared out among the users by its own draw.

    For every class c, p_c ~ Dirichlet(α, ..., α) over the users, and user u gets a share p_c[u] of the
    examples of class c. With α -> 0 a class belongs to one user; with α -> ∞ every user has the same mix.
    Sizes differ as well. A draw that leaves a user without examples is drawn again, at most 1000 times.

    Args:
      labels: the class of each example.
      users: how many users there are.
      alpha: the concentration α, above 0.
      rng: the stream to draw from.

    >>> owners = dirichlet(np.repeat([0, 1], 50), 5, 0.5, np.random.default_rng(0))
    >>> len(owners), np.unique(owners).tolist()
    (100, [0, 1, 2, 3, 4])

    Yurochkin et al., Bayesian nonparametric federated learning of neural networks, 2019. In Hsu, Qi and
    Brown, Measuring the effects of non-identical data distribution for federated visual classification,
    2019, each user draws a mix of labels instead and all users are of one size.
    """
    labels = np.asarray(labels)
    _check_users(users, len(labels))
    positive("alpha", alpha)
    _, class_of, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    counts = _dirichlet_counts(sizes, users, alpha, rng)
    owners = np.empty(len(labels), dtype=np.int64)
    for label, row in enumerate(counts):
        owners[class_of == label] = rng.permutation(np.repeat(np.arange(users), row))
    return owners


def label_skew(labels: NDArray[Any], users: int, classes_per_user: int, rng: np.random.Generator) -> Owners:
    """Gives every user examples of so many classes, and none of the others.

    Each user draws its classes among those that the fewest users have so far, so that no class has more than
    one user more than another. The examples of a class are dealt out evenly to the users that have it.

    Args:
      labels: the class of each example.
      users: how many users there are.
      classes_per_user: how many classes each has, at most as many as there are.
      rng: the stream to draw from.

    >>> labels = np.repeat(np.arange(10), 20)
    >>> owners = label_skew(labels, 20, 2, np.random.default_rng(0))
    >>> {len(set(labels[owners == user])) for user in range(20)}, np.unique(np.bincount(owners)).tolist()
    ({2}, [10])

    Li, Diao, Chen and He, Federated learning on non-IID data silos: an experimental study, 2022 (#C = k).
    """
    labels = np.asarray(labels)
    _check_users(users, len(labels))
    _, class_of, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if whole("classes per user", classes_per_user) > len(sizes):
        raise InvalidValue(
            f"classes per user must be at most the {len(sizes)} that there are, got {classes_per_user}"
        )
    if users * classes_per_user < len(sizes):
        raise InvalidValue(
            f"every class needs a user: {users} users of {classes_per_user} classes each are too few for "
            f"{len(sizes)} classes"
        )
    having: list[list[int]] = [[] for _ in sizes]
    taken = np.zeros(len(sizes))
    for user in range(users):
        chosen = np.argsort(taken + rng.random(len(sizes)))[:classes_per_user]
        taken[chosen] += 1
        for label in chosen:
            having[label].append(user)
    owners = np.empty(len(labels), dtype=np.int64)
    for label, (size, own) in enumerate(zip(sizes, having, strict=True)):
        if size < len(own):
            raise InvalidValue(
                f"a class of {size} examples cannot be dealt out to {len(own)} users: fewer users, or fewer "
                "classes per user, would work"
            )
        owners[class_of == label] = rng.permutation(np.resize(rng.permutation(own), size))
    return owners


def quantity_skew(num_examples: int, users: int, alpha: float, rng: np.random.Generator) -> Owners:
    """Skews sizes alone: all users have the same mix of labels, up to chance.

    (q_1, ..., q_N) ~ Dirichlet(α, ..., α), and user u gets a share q_u of the shuffled examples. A draw that
    leaves a user without examples is drawn again, at most 1000 times.

    Args:
      num_examples: how many there are.
      users: how many users there are.
      alpha: the concentration α, above 0.
      rng: the stream to draw from.

    >>> sorted(np.bincount(quantity_skew(100, 4, 0.5, np.random.default_rng(0))).tolist())
    [9, 20, 31, 40]

    Li, Diao, Chen and He, Federated learning on non-IID data silos: an experimental study, 2022.
    """
    return dirichlet(np.zeros(num_examples), users, alpha, rng)


def natural(ids: NDArray[Any], users: int | None, rng: np.random.Generator) -> Owners:
    """Keeps the owners that the data names: all of them, or a random choice of ``users``.

    Users are numbered in the order of their ids. Examples of users who were not chosen get -1.

    >>> natural(np.array(["eve", "ann", "eve"]), None, np.random.default_rng(0)).tolist()
    [1, 0, 1]
    """
    found, number = np.unique(ids, return_inverse=True)
    if users is None:
        return number.astype(np.int64)
    whole("number of users", users)
    if users > len(found):
        raise InvalidValue(
            f"number of users must be at most the {len(found)} that the data names, got {users}"
        )
    renumbered = np.full(len(found), -1, dtype=np.int64)
    renumbered[np.sort(rng.choice(len(found), users, replace=False))] = np.arange(users)
    return renumbered[number]


@dataclass(frozen=True, kw_only=True)
class Split:
    """A named way to give examples to users.

    Args:
      name: ``iid``, ``dirichlet``, ``label_skew``, ``quantity_skew`` or ``natural``.
      users: how many users; a natural split may leave it out and then keeps everybody.
      alpha: the concentration of a Dirichlet split or quantity skew, and of no other.
      classes_per_user: of a label skew, and of no other.

    >>> split = Split(name="iid", users=2)
    >>> np.bincount(split.assign(np.zeros(6), np.random.default_rng(0))).tolist()
    [3, 3]
    """

    name: str
    users: int | None = None
    alpha: float | None = None
    classes_per_user: int | None = None

    def __post_init__(self) -> None:
        one_of("split", self.name, SPLITS)
        if self.users is not None or self.name != "natural":
            whole("number of users", self._require("a number of users", self.users))
        if self.name in ("dirichlet", "quantity_skew"):
            positive("alpha", self._require("an alpha", self.alpha))
        elif self.alpha is not None:
            raise InvalidValue(f"alpha must be left out with split {self.name}, got {self.alpha}")
        if self.name == "label_skew":
            whole("classes per user", self._require("classes_per_user", self.classes_per_user))
        elif self.classes_per_user is not None:
            raise InvalidValue(
                f"classes_per_user must be left out with split {self.name}, got {self.classes_per_user}"
            )

    @classmethod
    def of(
        cls,
        name: str,
        users: int | None,
        alpha: float | None,
        classes_per_user: int | None = None,
        *,
        usual_users: int,
    ) -> Split:
        """A split in which ``users``, if not given, is a data set's usual number; natural: everybody."""
        return cls(
            name=name,
            users=usual_users if users is None and name != "natural" else users,
            alpha=alpha,
            classes_per_user=classes_per_user,
        )

    def assign(
        self, labels: NDArray[Any], rng: np.random.Generator, ids: NDArray[Any] | None = None
    ) -> Owners:
        """The user of each example, 0 to N - 1, or -1 for an example that no chosen user owns.

        Args:
          labels: the class of each example.
          rng: the stream to draw from.
          ids: whom the data names as the owner of each example, if it does.
        """
        return SPLITS[self.name](self, np.asarray(labels), rng, ids)

    def _require(self, what: str, value: T | None) -> T:
        if value is None:
            raise InvalidValue(f"split {self.name} needs {what}, got None")
        return value

    def _iid(self, labels: NDArray[Any], rng: np.random.Generator, ids: object) -> Owners:
        return iid(len(labels), self._require("a number of users", self.users), rng)

    def _dirichlet(self, labels: NDArray[Any], rng: np.random.Generator, ids: object) -> Owners:
        users, alpha = self._require("a number of users", self.users), self._require("an alpha", self.alpha)
        return dirichlet(labels, users, alpha, rng)

    def _label_skew(self, labels: NDArray[Any], rng: np.random.Generator, ids: object) -> Owners:
        users = self._require("a number of users", self.users)
        return label_skew(labels, users, self._require("classes_per_user", self.classes_per_user), rng)

    def _quantity_skew(self, labels: NDArray[Any], rng: np.random.Generator, ids: object) -> Owners:
        users, alpha = self._require("a number of users", self.users), self._require("an alpha", self.alpha)
        return quantity_skew(len(labels), users, alpha, rng)

    def _natural(self, labels: NDArray[Any], rng: np.random.Generator, ids: NDArray[Any] | None) -> Owners:
        if ids is None:
            raise InvalidValue(
                "split natural needs data that names the user of each example; this data does not"
            )
        if np.shape(ids) != (len(labels),):
            raise InvalidValue(f"there are {len(labels)} examples but natural users of shape {np.shape(ids)}")
        return natural(ids, self.users, rng)


SPLITS: dict[str, Callable[[Split, NDArray[Any], np.random.Generator, NDArray[Any] | None], Owners]] = {
    "iid": Split._iid,
    "dirichlet": Split._dirichlet,
    "label_skew": Split._label_skew,
    "quantity_skew": Split._quantity_skew,
    "natural": Split._natural,
}


def _dirichlet_counts(
    sizes: NDArray[np.int64], users: int, alpha: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    for _ in range(DRAWS):
        shares = rng.dirichlet(np.full(users, alpha), size=len(sizes))
        # Rounding where the cuts lie, not how long the pieces are, keeps every class whole.
        cuts = np.rint(shares.cumsum(axis=1) * sizes[:, None]).astype(np.int64)
        cuts[:, -1] = sizes
        counts = np.diff(cuts, axis=1, prepend=0)
        if counts.sum(axis=0).all():
            return counts
    raise InvalidValue(
        f"{DRAWS} Dirichlet draws with alpha {alpha} each left some of {users} users without any of "
        f"{int(sizes.sum())} examples; a larger alpha or fewer users would work"
    )


def _check_users(users: int, num_examples: int) -> None:
    whole("number of users", users)
    if users > num_examples:
        raise InvalidValue(
            f"number of users must be at most the number of examples, {num_examples}, got {users}"
        )
