"""One full-batch gradient: FedSGD."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fedward.base.validate import positive, rate, whole
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds
from fedward.local.schedule import decayed, decisive_rounds


@dataclass(frozen=True, kw_only=True)
class FullGradient:
    """The update is one step along the gradient of the mean loss over all of the user's examples.

        Δw = -η_t ∇L(w; all examples),    η_t = η d^t in round t

    With η = 1 the user sends its (negative) gradient, and the server's learning rate is FedSGD's.

    Args:
      learning_rate: η: the length of a step.
      learning_rate_decay: d: the learning rate is multiplied by it after every round. That of round t is η
        d^t.
      chunk_size: how many examples go through the model at once. It changes memory, not the result beyond
        rounding.

    McMahan et al. 2017.
    """

    learning_rate: float = 1.0
    learning_rate_decay: float = 1.0
    chunk_size: int = 512

    def __post_init__(self) -> None:
        positive("learning rate", self.learning_rate)
        rate("learning rate decay", self.learning_rate_decay)
        whole("chunk size", self.chunk_size)

    def at_round(self, round: int, bounds: Bounds) -> FullGradient:
        return decayed(self, round)

    def decisive_rounds(self, rounds: int) -> tuple[int, ...]:
        return decisive_rounds(self, rounds)

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        model.module.train()
        gradient = whole_gradient(model, examples, self.chunk_size)
        model.weights.sub_(gradient, alpha=self.learning_rate)


def whole_gradient(model: FlatModule, examples: Examples, chunk_size: int) -> Tensor:
    """The mean gradient of all examples, in the model's own memory; zero if there are none."""
    gradient = model.gradient.zero_()
    for index in torch.split(torch.arange(len(examples)), chunk_size) if len(examples) else ():
        x, y = examples.batch(index)
        model.add_gradient(x, y, len(examples))
    return gradient
