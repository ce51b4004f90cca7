"""A federation: who owns which examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.base.validate import InvalidValue, whole
from fedward.core.examples import Examples
from fedward.core.federation_checks import (
    check_class_names,
    check_same_kind,
    check_tokens,
    number_users,
    read_test,
)
from fedward.core.own_arrays import read_owners
from fedward.core.own_tables import DatasetColumns, FrameColumns, OwnExamples, read_own_table
from fedward.core.own_torch import read_own_torch
from fedward.core.roster import Roster
from fedward.core.vocabulary import Vocabulary
from fedward.privacy.public_data import PublicData


@dataclass(frozen=True, eq=False)
class Federation:
    """Examples grouped by user; user u owns ``examples[offsets[u]:offsets[u + 1]]``.

    Users are numbers 0 to N - 1 inside fedward; ``names[u]`` is what the data called user u. There is
    no Python object per user, so 100,000 users cost two arrays. Where examples are text, ``vocabulary`` has
    the words that their tokens stand for; where classes have names, ``class_names[c]`` is that of class c.
    Where examples are public features of what users hold, ``public`` declares the data behind these.

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
    class_names: tuple[str, ...] | None = None
    public: PublicData | None = None

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
        if self.class_names is not None:
            check_class_names(self.class_names)
        if self.class_names is not None and len(self.class_names) > self.num_classes:
            raise InvalidValue(
                f"there are {self.num_classes} classes but {len(self.class_names)} names of classes"
            )
        for part, examples in (("training", self.examples), ("test", self.test)):
            if examples is not None and len(examples) and int(examples.y.max()) >= self.num_classes:
                raise InvalidValue(
                    f"{part} labels must be below the number of classes, {self.num_classes}, "
                    f"got {int(examples.y.max())}"
                )
            if examples is not None and self.vocabulary is not None:
                check_tokens(part, examples, self.vocabulary)

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
        class_names: tuple[str, ...] | None = None,
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
          class_names: what the classes are called, from class 0 on.
          copy: whether the federation gets memory of its own. Without, it takes over what it can, for data
            that nobody else needs: then you must not write to these arrays any more.
        """
        examples = Examples.from_arrays(x, y, copy=False)
        owner = read_owners("users", users)
        if owner.shape != (len(examples),):
            raise InvalidValue(
                f"users must name one user for each of {len(examples)} examples, got shape {owner.shape}"
            )
        if len(examples) == 0:
            raise InvalidValue("a federation must hold at least one example, got 0")

        names, number = number_users(owner, names)
        order = np.argsort(number, kind="stable")
        if not np.array_equal(order, np.arange(len(order))):
            examples = examples.select(torch.from_numpy(order))
        elif copy:
            examples = examples.apart_from(x, y)
        counts = np.bincount(number, minlength=len(names))
        offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

        test = None if test is None else read_test(test, copy)
        if num_classes is None:
            labels = [examples.y] + ([test.y] if test is not None and len(test) else [])
            num_classes = max(2, 1 + max(int(label.max()) for label in labels))
        federation = cls(examples, offsets, names, num_classes, test, vocabulary, class_names)
        if test is not None:
            check_same_kind(examples, test)
        return federation

    @classmethod
    def from_pandas(
        cls,
        frame: Any,
        *,
        user: str,
        label: str,
        inputs: str | Sequence[str],
        test: Any = None,
        vocabulary: Vocabulary | None = None,
    ) -> Federation:
        """Builds a federation from a frame of pandas: one row is one example.

        Labels that are text are numbered in alphabetical order, and ``class_names`` keeps them.

        Args:
          frame: the training examples.
          user: the column that names the user: whole numbers or text.
          label: the column with the class: whole numbers, true and false, or text.
          inputs: the columns of numbers that are used, in this order; or the one column that holds the whole
            input: a text, a list or an array.
          test: a frame of test examples with the same columns; its users do not matter.
          vocabulary: the words that tokens stand for; needed if the input is text.
        """
        return cls._from_own(
            read_own_table(
                FrameColumns(frame),
                None if test is None else FrameColumns(test, "test"),
                user=user,
                label=label,
                inputs=inputs,
                vocabulary=vocabulary,
            ),
            vocabulary,
        )

    @classmethod
    def from_huggingface(
        cls,
        dataset: Any,
        *,
        user: str,
        input: str = "image",
        label: str = "label",
        test: Any = None,
        vocabulary: Vocabulary | None = None,
    ) -> Federation:
        """Builds a federation from one split of a data set of Hugging Face (``datasets.Dataset``).

        Labels keep the numbers and the names of a ``ClassLabel``; other labels that are text are numbered in
        alphabetical order. ``class_names`` has these names. Pictures become x / 255 in
        ``[n, channels, height, width]``.

        Args:
          dataset: the training examples.
          user: the column that names the user: whole numbers or text.
          input: the column of the inputs: pictures, texts, numbers, lists or arrays. Lists of whole numbers
            are tokens, and may have different lengths.
          label: the column with the class.
          test: the split of the test examples, with the same columns; its users do not matter.
          vocabulary: the words that tokens stand for; needed if the input is text.
        """
        columns = DatasetColumns(dataset)
        return cls._from_own(
            read_own_table(
                columns,
                None if test is None else DatasetColumns(test, "test"),
                user=user,
                label=label,
                inputs=input,
                vocabulary=vocabulary,
                class_names=columns.class_names(label),
            ),
            vocabulary,
        )

    @classmethod
    def from_torch(cls, dataset: Any, *, users: Any, seed: int | None = None, test: Any = None) -> Federation:
        """Builds a federation from a map-style data set of torch: ``dataset[i]`` is an input and a label.

        Every example is read once, as the data set gives it: random transforms are drawn here and never
        again. Names of classes are those of ``dataset.classes``, if there are any.

        Args:
          dataset: the training examples.
          users: the user of each example, whole numbers or strings; or how examples are dealt out, for
            instance ``fedward.datasets.Split(name="dirichlet", users=100, alpha=0.5)``.
          seed: decides who gets which example, where they are dealt out.
          test: a data set of test examples.
        """
        return cls._from_own(read_own_torch(dataset, test, users, seed))

    @classmethod
    def _from_own(cls, own: OwnExamples, vocabulary: Vocabulary | None = None) -> Federation:
        return cls.from_arrays(
            own.x,
            own.y,
            own.users,
            test=own.test,
            num_classes=own.num_classes,
            vocabulary=vocabulary,
            class_names=own.class_names,
        )

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
