"""A federation: who owns which examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.base.validate import InvalidType, InvalidValue, whole
from fedward.core.examples import Examples, Ragged
from fedward.core.roster import Roster
from fedward.core.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Federation:
    """Examples grouped by user; user u owns ``examples[offsets[u]:offsets[u + 1]]``.

    Users are numbers 0 to N - 1 inside fedward; ``names[u]`` is what the data called user u. There is
    no Python object per user, so 100,000 users cost two arrays. Where examples are text, ``vocabulary`` has
    the words that their tokens stand for.

    >>> federation = Federation.from_arrays([[0.1], [0.2], [0.3]], [0, 1, 0], ["ann", "bob", "ann"])
    >>> federation.num_users, federation.user(0).y.tolist()
    (2, [0, 0])
    """

    examples: Examples
    offsets: Tensor
    names: np.ndarray[Any, Any]
    num_classes: int
    test: Examples | None = None
    vocabulary: Vocabulary | None = None

    def __post_init__(self) -> None:
        whole("number of users", self.num_users)
        sizes = self.offsets.diff()
        if (
            int(self.offsets[0]) != 0
            or int(self.offsets[-1]) != len(self.examples)
            or bool((sizes < 0).any())
        ):
            raise InvalidValue(
                f"user offsets must rise from 0 to the number of examples, {len(self.examples)}"
            )
        if bool((sizes == 0).any()):
            name = self.names[int((sizes == 0).nonzero()[0])]
            raise InvalidValue(f"user {name} has no examples; every user must own at least one")
        if len(self.names) != self.num_users:
            raise InvalidValue(f"there are {self.num_users} users but {len(self.names)} names")
        whole("number of classes", self.num_classes, at_least=2)
        for part, examples in (("training", self.examples), ("test", self.test)):
            if examples is not None and len(examples) and int(examples.y.max()) >= self.num_classes:
                raise InvalidValue(
                    f"{part} labels must be below the number of classes, {self.num_classes}, "
                    f"got {int(examples.y.max())}"
                )
            if examples is not None and self.vocabulary is not None:
                _check_tokens(part, examples, self.vocabulary)

    @classmethod
    def from_arrays(
        cls,
        x: Any,
        y: Any,
        users: Any,
        *,
        test: tuple[Any, Any] | Examples | None = None,
        num_classes: int | None = None,
        names: Any = None,
        vocabulary: Vocabulary | None = None,
        copy: bool = True,
    ) -> Federation:
        """Builds a federation from your own arrays.

        They stay yours: nothing in fedward writes to them, and what you write to them later does not reach
        the federation.

        Args:
          x: inputs ``[n, ...]`` (floats, or int64 tokens) or a ``Ragged``.
          y: one whole-number label for each example.
          users: the user of each example: whole numbers or strings.
          test: inputs and labels that belong to nobody, for evaluation; ``Examples`` are taken as they are.
          num_classes: how many classes there are; the largest label plus one if not given.
          names: all users there are. Needed only to insist on users who may turn out to be empty
            (which is then an error) or on an order.
          vocabulary: the words that tokens stand for, if ``x`` holds tokens.
          copy: whether the federation gets memory of its own. Without, it takes over what it can, for data
            that nobody else needs: then you must not write to these arrays any more.
        """
        examples = Examples.from_arrays(x, y, copy=False)
        owner = np.asarray(users)
        if owner.shape != (len(examples),):
            raise InvalidValue(
                f"users must name one user for each of {len(examples)} examples, got shape {owner.shape}"
            )
        if owner.dtype.kind == "O" and all(isinstance(user, str) for user in owner):
            owner = owner.astype(str)  # what pandas calls a column of strings
        if owner.dtype.kind not in "iuUS":
            raise InvalidValue(f"users must be whole numbers or strings, got an array of {owner.dtype}")
        if len(examples) == 0:
            raise InvalidValue("a federation must hold at least one example, got 0")

        names, number = _number_users(owner, names)
        order = np.argsort(number, kind="stable")
        if not np.array_equal(order, np.arange(len(order))):
            examples = examples.select(torch.from_numpy(order))
        elif copy:
            examples = examples.apart_from(x, y)
        counts = np.bincount(number, minlength=len(names))
        offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

        if test is not None and not isinstance(test, Examples):
            test = Examples.from_arrays(*test, copy=copy)
        if num_classes is None:
            labels = [examples.y] + ([test.y] if test is not None and len(test) else [])
            num_classes = max(2, 1 + max(int(label.max()) for label in labels))
        federation = cls(examples, offsets, names, num_classes, test, vocabulary)
        if test is not None:
            _check_same_kind(examples, test)
        return federation

    @property
    def num_users(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Tensor:
        """How many examples each user owns."""
        return self.offsets.diff()

    @property
    def roster(self) -> Roster:
        """What a server knows of these users."""
        first = torch.arange(min(2, len(self.examples)))
        return Roster(
            names=self.names,
            sizes=self.sizes,
            num_classes=self.num_classes,
            sample=self.examples.select(first),
        )

    def sizes_of(self, users: np.ndarray[Any, Any]) -> list[int]:
        """How many examples some users own; it does not touch the others."""
        index = torch.from_numpy(users)
        sizes: list[int] = (self.offsets[index + 1] - self.offsets[index]).tolist()
        return sizes

    def user(self, user: int) -> Examples:
        """The examples of one user, sharing memory with the federation."""
        if not 0 <= user < self.num_users:
            raise InvalidValue(f"user must be from 0 to {self.num_users - 1}, got {user}")
        return self.examples.span(int(self.offsets[user]), int(self.offsets[user + 1]))


def _number_users(
    owner: np.ndarray[Any, Any], names: Any
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    if names is None:
        found, number = np.unique(owner, return_inverse=True)
        return found, number
    names = np.array(names)
    if len(np.unique(names)) != len(names):
        raise InvalidValue("names must not repeat a user")
    position = np.argsort(names, kind="stable")
    place = np.clip(np.searchsorted(names[position], owner), 0, len(names) - 1)
    number = position[place]
    unknown = names[number] != owner
    if unknown.any():
        raise InvalidValue(f"user {owner[unknown][0]} owns examples but is not among the names")
    return names, number


def _check_same_kind(examples: Examples, test: Examples) -> None:
    if isinstance(examples.x, Ragged) != isinstance(test.x, Ragged):
        raise InvalidValue("training and test examples must both be flat or both be ragged")
    a = examples.x.values if isinstance(examples.x, Ragged) else examples.x
    b = test.x.values if isinstance(test.x, Ragged) else test.x
    if a.shape[1:] != b.shape[1:] or a.dtype != b.dtype:
        raise InvalidValue(
            "training and test examples must have the same shape and type, "
            f"got {tuple(a.shape[1:])} {a.dtype} and {tuple(b.shape[1:])} {b.dtype}"
        )


def _check_tokens(part: str, examples: Examples, vocabulary: Vocabulary) -> None:
    ragged = isinstance(examples.x, Ragged)
    tokens = examples.x.values if isinstance(examples.x, Ragged) else examples.x
    if tokens.is_floating_point():
        raise InvalidType(f"{part} examples must be tokens where there is a vocabulary, got {tokens.dtype}")
    if not tokens.numel():
        return
    # Sequences are padded with 0 when they are batched: a 0 of their own would pass for the end.
    least, largest = (1 if ragged else 0), vocabulary.size - 1
    low, high = int(tokens.min()), int(tokens.max())
    if low < least or high > largest:
        raise InvalidValue(
            f"{part} tokens must be from {least} to {largest} for a vocabulary of {len(vocabulary.words)} "
            f"words, got {low if low < least else high}"
        )
