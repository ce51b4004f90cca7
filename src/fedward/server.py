"""What the server does with the noisy mean. All of it is post-processing and costs no privacy."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.core.types import ServerOptimizer
from fedward.core.validate import half_open_unit, positive

State = tuple[Tensor, ...]


@dataclass(frozen=True, kw_only=True)
class ServerStep:
    """Adds the mean to the model: w = w + η · mean. With η = 1 it is FedAvg."""

    learning_rate: float = 1.0

    def __post_init__(self) -> None:
        positive("server learning rate", self.learning_rate)

    def init(self, parameters: Tensor) -> State:
        return ()

    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        return _moved(parameters, mean, self.learning_rate), ()


@dataclass(frozen=True, kw_only=True)
class ServerMomentum:
    """Momentum over rounds: v = β v + mean, w = w + η v.

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
        return _moved(parameters, velocity, self.learning_rate), (velocity,)


@dataclass(frozen=True, kw_only=True)
class ServerAdam:
    """Adam on the mean, as FedAdam has it: no bias correction, τ inside the denominator.

        m = β₁ m + (1 - β₁) mean,    v = β₂ v + (1 - β₂) mean²,    w = w + η m / (√v + τ)

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
        return _moved(parameters, direction, self.learning_rate), (first, second)


def _moved(parameters: Tensor, direction: Tensor, learning_rate: float) -> Tensor:
    return (parameters.double() + learning_rate * direction).to(parameters.dtype)


SERVERS: dict[str, type[ServerOptimizer]] = {
    "step": ServerStep,
    "momentum": ServerMomentum,
    "adam": ServerAdam,
}
