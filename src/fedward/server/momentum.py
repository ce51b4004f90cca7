"""Momentum over rounds."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.base.validate import half_open_unit, positive, rate
from fedward.server.move import State, move_parameters


@dataclass(frozen=True, kw_only=True)
class ServerMomentum:
    """Momentum over rounds: v = β v + mean, w = w + η γ^t v.

    Args:
      learning_rate: η: the length of a step.
      momentum: β: how much of the last step goes on.
      learning_rate_decay: γ: what the length of a step is multiplied with after each round.

    Hsu, Qi, Brown 2019 (FedAvgM).
    """

    learning_rate: float = 1.0
    momentum: float = 0.9
    learning_rate_decay: float = 1.0

    def __post_init__(self) -> None:
        positive("server learning rate", self.learning_rate)
        half_open_unit("server momentum", self.momentum)
        rate("learning rate decay", self.learning_rate_decay)

    def init(self, parameters: Tensor) -> State:
        velocity = torch.zeros_like(parameters, dtype=torch.float64)
        # Without decay the state is what it always was: stored trainings go on.
        if self.learning_rate_decay == 1:
            return (velocity,)
        return velocity, torch.full((1,), self.learning_rate, dtype=torch.float64)

    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        velocity = self.momentum * state[0] + mean
        if self.learning_rate_decay == 1:
            return move_parameters(parameters, velocity, self.learning_rate), (velocity,)
        length = state[1]
        return move_parameters(parameters, velocity, float(length)), (
            velocity,
            length * self.learning_rate_decay,
        )
