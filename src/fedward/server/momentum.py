"""Momentum over rounds."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.base.validate import half_open_unit, positive
from fedward.server.move import State, move_parameters


@dataclass(frozen=True, kw_only=True)
class ServerMomentum:
    """Momentum over rounds: v = β v + mean, w = w + η v.

    Args:
      learning_rate: η: the length of a step.
      momentum: β: how much of the last step goes on.

    Hsu, Qi, Brown 2019 (FedAvgM).
    """

    learning_rate: float = 1.0
    momentum: float = 0.9

    def __post_init__(self) -> None:
        positive("server learning rate", self.learning_rate)
        half_open_unit("server momentum", self.momentum)

    def init(self, parameters: Tensor) -> State:
        return (torch.zeros_like(parameters, dtype=torch.float64),)

    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        velocity = self.momentum * state[0] + mean
        return move_parameters(parameters, velocity, self.learning_rate), (velocity,)
