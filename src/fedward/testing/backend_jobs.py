"""The small model, people and jobs that backends are tried on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedward.backends.in_process import InProcess
from fedward.backends.protocol import Backend
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from fedward.local import SGD

_SIZES = (3, 8, 1, 5, 4)
USERS = range(len(_SIZES))


def network() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


class Fails(nn.Module):
    """Refuses examples that are larger than any honest one."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = network()

    def forward(self, x: Tensor) -> Any:
        if bool((x > 100).any()):
            raise RuntimeError("too large")
        return self.inner(x)


class Writes(nn.Module):
    """Writes to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = network()

    def forward(self, x: Tensor) -> Any:
        return self.inner(x.mul_(2.0))


def people() -> Federation:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(sum(_SIZES), 3)).astype(np.float32)
    return Federation.from_arrays(x, (x[:, 0] > 0).astype(int), np.repeat(np.arange(len(_SIZES)), _SIZES))


def examples_to_measure() -> Examples:
    x = torch.from_numpy(np.random.default_rng(2).normal(size=(7, 3)).astype(np.float32))
    return Examples(x, (x[:, 0] > 0).long())


def start_of(model: nn.Module) -> Tensor:
    return ParameterSpec.of(model).flatten(model)


def jobs_of(model: nn.Module, users: Iterable[int]) -> list[Job]:
    trainer = SGD(learning_rate=0.1, batch_size=2, epochs=2)
    return [
        Job(
            parameters=start_of(model), user=user, num_examples=_SIZES[user], trainer=trainer, seed=100 + user
        )
        for user in users
    ]


def reference() -> Backend:
    return InProcess(network(), people())
