"""The mean of the iterates, as the model that is trained and released."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.base.validate import positive, whole
from fedward.server.move import State


@dataclass(frozen=True, kw_only=True)
class ServerAveraging:
    """The mean of the iterates: z = z + η · mean, w = w + (z - w) / min(t - first + 1, last).

    Without ``last`` the model w after round t is (z_first + ... + z_t) / (t - first + 1): the noise of so
    many rounds averages out. Users train from w. Before the round ``first`` it is ``step``.

    Args:
      learning_rate: η: the length of a step.
      first: the round (counted from 0) whose iterate is the first in the mean.
      last: the weight of a new iterate is never below one in so many, so that old ones are forgotten; none is
        if not given.

    >>> server, w = ServerAveraging(), torch.zeros(1)
    >>> state = server.init(w)
    >>> for mean in (1.0, 1.0, 1.0):  # iterates 1, 2, 3
    ...     w, state = server.step(w, torch.tensor([mean], dtype=torch.float64), state)
    >>> w
    tensor([2.])

    Polyak and Juditsky 1992; trained from the mean itself as by Tao, Pan, Wu and Tao 2020.
    """

    learning_rate: float = 1.0
    first: int = 0
    last: int | None = None

    def __post_init__(self) -> None:
        positive("server learning rate", self.learning_rate)
        whole("first round of the mean", self.first, at_least=0)
        if self.last is not None:
            whole("last iterates of the mean", self.last)

    def init(self, parameters: Tensor) -> State:
        return parameters.to(torch.float64, copy=True), torch.zeros(1, dtype=torch.int64)

    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        iterate, round = state[0] + self.learning_rate * mean, int(state[1])
        many = max(1, round - self.first + 1)
        share = 1 / (many if self.last is None else min(many, self.last))
        # Weights that add up to 1 exactly, so that a mean of one iterate is that iterate.
        model = (1 - share) * parameters.double() + share * iterate
        return model.to(parameters.dtype), (iterate, state[1] + 1)
