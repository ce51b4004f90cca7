"""A cache of what the Gram form computes from a user's data alone, for the users that came last."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedward.core.examples import Examples

# Four small arrays with their headers, a view of the examples and a place among the kept, measured.
_OBJECTS = 2400

_NONE = torch.empty(0, 0)

_Place = tuple[int, tuple[int, ...], tuple[int, ...]]


def pad_to_vectors(n: int) -> int:
    """The next multiple of 16: as many numbers as the widest vectors hold.

    >>> pad_to_vectors(16), pad_to_vectors(17)
    (16, 32)
    """
    return n + -n % 16


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """Products of a user's examples, and its labels.

    Args:
      kernel: ``[padded(n), padded(n)]``, the examples' products with each other; zero beyond n. Empty for a
        training of one step, which needs none.
      targets: ``[classes, padded(n)]``, 1 where the label is.
      labels: a copy of the labels.
      marks: the product of every example with a fixed random vector.
    """

    kernel: Tensor
    targets: Tensor
    labels: NDArray[np.int64]
    marks: Tensor

    @classmethod
    def of_labels(
        cls,
        examples: Examples,
        classes: int,
        dtype: torch.dtype,
        *,
        kernel: Tensor = _NONE,
        marks: Tensor = _NONE,
    ) -> Table:
        """A table with the targets of the labels."""
        labels = examples.y.numpy().copy()
        targets = torch.zeros(classes, pad_to_vectors(len(labels)), dtype=dtype)
        targets.numpy()[labels, np.arange(len(labels))] = 1
        return cls(kernel=kernel, targets=targets, labels=labels, marks=marks)

    @property
    def num_bytes(self) -> int:
        """What the arrays take and the objects around them, which are most of it where examples are few."""
        arrays = (self.kernel, self.targets, self.labels, self.marks)
        return sum(array.nbytes for array in arrays) + _OBJECTS


class _Kept(NamedTuple):
    table: Table
    # The examples themselves, so that no others can come to lie at the same place.
    x: Tensor
    version: int
    size: int


class KeptTables:
    """Tables by where their examples lie in memory; the one that was not used for longest goes first."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held = 0
        self._tables: OrderedDict[_Place, _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tables)

    def find(self, examples: Examples, marks: Tensor) -> Table | None:
        """The table of exactly these examples, if there is one."""
        x = examples.x
        if not isinstance(x, Tensor) or x.is_inference():
            return None
        place = _place(x)
        kept = self._tables.get(place)
        if kept is None:
            return None
        table = kept.table
        same = kept.version == x._version and table.labels.tobytes() == examples.y.numpy().tobytes()
        if not same or not torch.equal(table.marks, marks):
            self._drop(place)
            return None
        self._tables.move_to_end(place)
        return table

    def add(self, examples: Examples, table: Table) -> None:
        """Keeps a table, and forgets others if they take too much room together."""
        x, size = examples.x, table.num_bytes
        # A tensor of inference mode does not count who wrote to it.
        if not isinstance(x, Tensor) or x.is_inference() or size > self._most:
            return
        place = _place(x)
        self._drop(place)
        self._tables[place] = _Kept(table, x, x._version, size)
        self._held += size
        while self._held > self._most:
            self._drop(next(iter(self._tables)))

    def _drop(self, place: _Place) -> None:
        if place in self._tables:
            self._held -= self._tables.pop(place).size


def _place(x: Tensor) -> _Place:
    return x.data_ptr(), tuple(x.shape), x.stride()
