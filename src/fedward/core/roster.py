"""A roster: the users of a federation as its server knows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.base.validate import InvalidValue, whole
from fedward.core.examples import Examples, Ragged


@dataclass(frozen=True, eq=False, kw_only=True)
class Roster:
    """Who there is, how many examples each of them owns, and what a model is given; nobody's data.

    All that a round is planned from. A simulation has a ``Federation`` and takes the roster of it; the server
    of a real federation makes one of what users have declared (``Roster.declared``).

    Args:
      names: what each user is called; inside fedward users are numbers 0 to N - 1.
      sizes: how many examples each of them owns.
      num_classes: how many classes a model tells apart.
      sample: one or two examples to try a model on: the first ones of a simulation, or made-up ones.

    >>> roster = Roster.declared(sizes=[5, 3, 9], input_shape=(1, 8, 8), num_classes=10)
    >>> roster.num_users, roster.sizes_of(np.array([0, 2])), roster.input_shape
    (3, [5, 9], (1, 8, 8))
    """

    names: np.ndarray[Any, Any]
    sizes: Tensor
    num_classes: int
    sample: Examples

    def __post_init__(self) -> None:
        whole("number of users", self.num_users)
        if len(self.names) != self.num_users:
            raise InvalidValue(f"there are {self.num_users} users but {len(self.names)} names")
        if int(self.sizes.min()) < 1:
            name = self.names[int((self.sizes < 1).nonzero()[0])]
            raise InvalidValue(f"user {name} has no examples; every user must own at least one")
        whole("number of classes", self.num_classes, at_least=2)
        if not len(self.sample):
            raise InvalidValue("a roster must hold an example to try a model on, got none")

    @classmethod
    def declared(
        cls,
        *,
        sizes: Any,
        input_shape: tuple[int, ...],
        num_classes: int,
        names: Any = None,
        dtype: torch.dtype = torch.float32,
    ) -> Roster:
        """The roster of a server that has no data: a model is tried on two inputs made of ones.

        Args:
          sizes: how many examples each user says that it owns.
          input_shape: of one example.
          names: of the users; their numbers if not given.
          dtype: of an input: float32, or int64 for tokens.
        """
        counts = torch.as_tensor(sizes, dtype=torch.int64)
        ones = Examples(torch.ones(2, *input_shape, dtype=dtype), torch.zeros(2, dtype=torch.int64))
        called = np.arange(len(counts)) if names is None else np.asarray(names)
        return cls(names=called, sizes=counts, num_classes=num_classes, sample=ones)

    @property
    def num_users(self) -> int:
        return len(self.sizes)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Of one example; empty for sequences, which have no fixed length."""
        x = self.sample.x
        return () if isinstance(x, Ragged) else tuple(x.shape[1:])

    def sizes_of(self, users: np.ndarray[Any, Any]) -> list[int]:
        """How many examples some users own; it does not touch the others."""
        sizes: list[int] = self.sizes[torch.from_numpy(users)].tolist()
        return sizes
