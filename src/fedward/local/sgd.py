"""Stochastic gradient descent at the user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedward.base.validate import InvalidValue, half_open_unit, non_negative, positive, rate, whole
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds
from fedward.local.schedule import decayed, decisive_rounds

# No training comes near them: a zero too many is said, and not waited for.
_MOST_EPOCHS, MOST_STEPS = 10**6, 10**9


@dataclass(frozen=True, kw_only=True)
class SGD:
    """Mini-batch SGD with momentum and weight decay, for a number of epochs or of steps.

        g = ∇L(w; batch) + λ w,    v = μ v + g,    w = w - η_t v,    η_t = η d^t in round t

    Batches come from a fresh shuffle of the user's examples in each epoch; the last batch of an epoch may
    be smaller. It guarantees nothing about the norm of the update: the server clips.

    Args:
      learning_rate: η: the length of a step.
      batch_size: examples in a step; a user with fewer takes all of them.
      epochs: how often a user goes through its examples in a round; or give ``steps``.
      steps: how many steps a user takes in a round, in the place of ``epochs``. They go on into the next
        shuffle when an epoch ends.
      momentum: μ: how much of the last step goes on. It starts from zero in every round.
      weight_decay: λ: how strongly weights are pulled to zero.
      learning_rate_decay: d: the learning rate is multiplied by it after every round. That of round t is η
        d^t.

    >>> SGD(learning_rate=0.1, batch_size=10, epochs=2, learning_rate_decay=0.5).at_round(2, ()).learning_rate
    0.025

    McMahan et al. 2017, algorithm 1.
    """

    learning_rate: float
    batch_size: int
    epochs: int | None = None
    steps: int | None = None
    momentum: float = 0.0
    weight_decay: float = 0.0
    learning_rate_decay: float = 1.0

    def __post_init__(self) -> None:
        positive("learning rate", self.learning_rate)
        whole("batch size", self.batch_size)
        if (self.epochs is None) == (self.steps is None):
            raise InvalidValue(
                f"give either epochs or steps, got epochs={self.epochs} and steps={self.steps}"
            )
        if self.epochs is not None:
            whole("epochs", self.epochs, at_most=_MOST_EPOCHS)
        if self.steps is not None:
            whole("steps", self.steps, at_most=MOST_STEPS)
        half_open_unit("momentum", self.momentum)
        non_negative("weight decay", self.weight_decay)
        rate("learning rate decay", self.learning_rate_decay)

    def at_round(self, round: int, bounds: Bounds) -> SGD:
        return decayed(self, round)

    def decisive_rounds(self, rounds: int) -> tuple[int, ...]:
        return decisive_rounds(self, rounds)

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        for _ in self.walk(model, examples, rng):
            pass

    def walk(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> Iterator[None]:
        """Takes one step at a time, so that others can act between them."""
        model.module.train()
        weights, gradient = model.weights, model.gradient
        velocity = torch.zeros_like(weights) if self.momentum else None
        for index in self.batches(len(examples), rng):
            x, y = examples.batch(index)
            gradient.zero_()
            cross_entropy(model(x, owned=True), y).backward()  # type: ignore[no-untyped-call]
            self.advance(weights, gradient, velocity)
            yield

    def advance(self, weights: Tensor, gradient: Tensor, velocity: Tensor | None) -> None:
        """One step along a gradient, in place; without momentum there is no velocity."""
        if weights.device.type not in ("cpu", "cuda"):  # others have no fused step, or not always
            gradient = gradient.add(weights, alpha=self.weight_decay)
            step = gradient if velocity is None else velocity.mul_(self.momentum).add_(gradient)
            weights.sub_(step, alpha=self.learning_rate)
            return
        # What torch.optim.SGD(fused=True) calls: one pass over memory instead of four. The optimiser itself
        # costs as much again for a small model, and wants parameters that are not views.
        torch._fused_sgd_(
            [weights],
            [gradient],
            [] if velocity is None else [velocity],
            weight_decay=self.weight_decay,
            momentum=self.momentum,
            lr=self.learning_rate,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
        )

    def num_steps(self, num_examples: int) -> int:
        """How many steps a user with so many examples takes."""
        if self.steps is not None:
            return self.steps
        return -(-num_examples // self.batch_size) * (self.epochs or 0)

    def batches(self, num_examples: int, rng: np.random.Generator) -> Iterator[Tensor]:
        """The examples of each step."""
        return map(torch.from_numpy, self.indices(num_examples, rng))

    def indices(
        self, num_examples: int, rng: np.random.Generator
    ) -> Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """The same as ``batches``, as numpy arrays."""
        per_epoch = -(-num_examples // self.batch_size)
        for step in range(self.num_steps(num_examples)):
            if step % per_epoch == 0:
                order = rng.permutation(num_examples)
            start = step % per_epoch * self.batch_size
            yield order[start : start + self.batch_size]
