"""FedAvg's server: it adds the mean."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedward.base.validate import positive
from fedward.server.move import State, move_parameters


@dataclass(frozen=True, kw_only=True)
class ServerStep:
    """Adds the mean to the model: w = w + η · mean. With η = 1 it is FedAvg.

    Args:
      learning_rate: η: the length of a step.
    """

    learning_rate: float = 1.0

    def __post_init__(self) -> None:
        positive("server learning rate", self.learning_rate)

    def init(self, parameters: Tensor) -> State:
        return ()

    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        return move_parameters(parameters, mean, self.learning_rate), ()
