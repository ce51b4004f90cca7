"""Adam on the mean."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.base.validate import half_open_unit, positive
from fedward.server.move import State, move_parameters


@dataclass(frozen=True, kw_only=True)
class ServerAdam:
    """Adam on the mean, as FedAdam has it: no bias correction, τ inside the denominator.

        m = β₁ m + (1 - β₁) mean,    v = β₂ v + (1 - β₂) mean²,    w = w + η m / (√v + τ)

    Args:
      learning_rate: η: the length of a step.
      beta1: β₁: how much of the last rounds' means goes on.
      beta2: β₂: how much of the last rounds' squares goes on.
      tau: τ: keeps steps short where the squares are small.

    Reddi et al. 2021, algorithm 2.
    """

    learning_rate: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3

    def __post_init__(self) -> None:
        positive("server learning rate", self.learning_rate)
        half_open_unit("beta1", self.beta1)
        half_open_unit("beta2", self.beta2)
        positive("tau", self.tau)

    def init(self, parameters: Tensor) -> State:
        zeros = torch.zeros_like(parameters, dtype=torch.float64)
        return zeros, zeros.clone()

    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        first = self.beta1 * state[0] + (1 - self.beta1) * mean
        second = self.beta2 * state[1] + (1 - self.beta2) * mean.square()
        direction = first / (second.sqrt() + self.tau)
        return move_parameters(parameters, direction, self.learning_rate), (first, second)
