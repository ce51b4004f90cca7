"""A server's step that keeps the private mean which it was given, for an auditor to see."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.core.types import ServerOptimizer


@dataclass(frozen=True, kw_only=True)
class ShownServer:
    """The same steps; the last tensor of its state is the mean of the round before, in double precision.

    Whoever sees the models of all rounds can compute that mean: the step is public.
    """

    server: ServerOptimizer

    def init(self, parameters: Tensor) -> tuple[Tensor, ...]:
        return (*self.server.init(parameters), torch.zeros_like(parameters, dtype=torch.float64))

    def step(
        self, parameters: Tensor, mean: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        moved, after = self.server.step(parameters, mean, state[:-1])
        return moved, (*after, mean.to(torch.float64))


def shown_mean(state: tuple[Tensor, ...]) -> Tensor:
    """The mean that a ``ShownServer`` was given last."""
    return state[-1]
