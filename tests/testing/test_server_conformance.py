from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from fedward.server import ServerMomentum, ServerStep
from fedward.testing import check_server
from testing.caught import caught

State = tuple[Tensor, ...]


@dataclass(frozen=True, kw_only=True)
class StepsInPlace(ServerStep):
    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        return parameters.add_(mean), state


@dataclass(frozen=True, kw_only=True)
class ChangesTheType(ServerStep):
    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        return parameters + mean.double(), state


@dataclass(frozen=True, kw_only=True)
class DividesByZero(ServerStep):
    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        return (parameters + mean / mean.norm()).to(parameters.dtype), state


@dataclass(frozen=True, kw_only=True)
class StaysWhereItIs(ServerStep):
    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        return parameters.clone(), state


@dataclass(frozen=True, kw_only=True)
class Hesitates(ServerMomentum):
    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        after, state = super().step(parameters, mean, state)
        return (after + torch.rand(1).to(after.dtype)), state


@pytest.mark.parametrize(
    ("server", "fault"),
    [
        (StepsInPlace(), "step changed its input in place"),
        (ChangesTheType(), "of torch.float64 for parameters of shape (7,) and torch.float32"),
        (DividesByZero(), "for the mean [0, 0, 0, 0, ...]"),
        (StaysWhereItIs(), "two means moved the model to the same place"),
        (Hesitates(), "changed the state of the global generator of torch"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_step_is_caught(server: Any, fault: str) -> None:
    assert fault in caught(check_server, server)
