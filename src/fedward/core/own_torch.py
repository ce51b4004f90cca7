"""Map-style data sets of torch, read into the arrays of a federation."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedward.base.randomness import stream
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.cells import read_inputs, read_names
from fedward.core.own_tables import Inputs, OwnExamples, numbered


@runtime_checkable
class Assignment(Protocol):
    """A way to deal examples out to users: ``fedward.datasets.Split`` is one."""

    def assign(self, labels: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """The user of each example."""


@runtime_checkable
class _NamesClasses(Protocol):
    @property
    def classes(self) -> Sequence[str]: ...


def read_own_torch(dataset: Any, test: Any, users: Any, seed: int | None) -> OwnExamples:
    """The examples of a data set that belong to users, and those of another for testing.

    Args:
      dataset: gives ``(input, label)`` for each number from 0 to its length.
      test: the same, or None.
      users: the user of each example, or how they are dealt out.
      seed: decides who gets which example, where they are dealt out.
    """
    x, y = _read("dataset", dataset)
    x_test, y_test = _read("test", test) if test is not None else (None, None)
    names = tuple(map(str, dataset.classes)) if isinstance(dataset, _NamesClasses) else None
    found = numbered(x, y, np.zeros(0), x_test, y_test, names if y.dtype.kind != "U" else None)
    return OwnExamples(
        x=found.x,
        y=found.y,
        users=_owners(users, found.y, seed),
        test=found.test,
        num_classes=found.num_classes,
        class_names=found.class_names,
    )


def _owners(users: Any, labels: NDArray[np.int64], seed: int | None) -> NDArray[Any]:
    if isinstance(users, Assignment):
        if seed is None:
            raise InvalidValue("examples that are dealt out to users need a seed, got None")
        return users.assign(labels, stream(seed, "partition"))
    if isinstance(users, str) or not isinstance(users, Sized):
        raise InvalidType(
            "users must name the user of each example, or say how examples are dealt out, for instance "
            f"fedward.datasets.Split(name='iid', users=100), got {users!r}"
        )
    if seed is not None:
        raise InvalidValue(f"seed must be left out where the user of each example is named, got {seed}")
    if len(users) != len(labels):
        raise InvalidValue(f"users must name one user for each of {len(labels)} examples, got {len(users)}")
    return read_names("users", users.tolist() if isinstance(users, Tensor) else users, "users")


def _read(what: str, dataset: Any) -> tuple[Inputs, NDArray[Any]]:
    if not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")):
        raise InvalidType(
            f"{what} must be a map-style data set of torch, with a length and numbered examples, got "
            f"{type(dataset).__name__}"
        )
    if not len(dataset):
        raise InvalidValue(f"{what} must hold at least one example, got 0")
    inputs, labels = [], []
    for place in range(len(dataset)):
        example = dataset[place]
        if not isinstance(example, (tuple, list)) or len(example) != 2:
            raise InvalidType(
                f"{what} must give an input and a label for each example, but example {place} is a "
                f"{type(example).__name__}"
            )
        inputs.append(example[0])
        labels.append(example[1].item() if isinstance(example[1], Tensor | np.generic) else example[1])
    return read_inputs("input", inputs), read_names("label", labels, "labels")
