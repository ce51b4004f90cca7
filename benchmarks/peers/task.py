"""The training that all contestants do, with what they share: settings, data, model, report.

It needs torch and numpy alone: contestants have environments of their own.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

USERS, COHORT = 200, 20
EPOCHS, BATCH = 10, 60
RATE, MOMENTUM, DECAY = 0.02, 0.9, 5e-4
CLIP, NOISE = 0.7, 1.0
SEED = 1


def options() -> argparse.Namespace:
    """What run.py tells every contestant."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True, help="where data.npz lies; scratch space too")
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=SEED, help="of cohorts and noise")
    return parser.parse_args()


@dataclass(frozen=True)
class Data:
    """User u owns ``x[u], y[u]``: as many examples as every other."""

    x: Tensor
    y: Tensor
    test_x: Tensor
    test_y: Tensor


@functools.cache
def load(folder: Path) -> Data:
    with np.load(folder / "data.npz") as arrays:
        return Data(*(torch.from_numpy(arrays[name]) for name in ("x", "y", "test_x", "test_y")))


def model() -> nn.Sequential:
    """The MNIST CNN for two classes, the same weights for everybody."""
    torch.manual_seed(SEED)
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3),
        nn.ReLU(),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.ReLU(),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Linear(512, 32),
        nn.ReLU(),
        nn.Linear(32, 2),
    )


def optimizer(module: nn.Module) -> torch.optim.SGD:
    return torch.optim.SGD(module.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY)


def train_user(module: nn.Module, x: Tensor, y: Tensor) -> int:
    """Local training as one writes it in plain PyTorch; returns how many samples it trained."""
    steps = optimizer(module)
    module.train()
    for _ in range(EPOCHS):
        for index in torch.randperm(len(y)).split(BATCH):
            steps.zero_grad()
            nn.functional.cross_entropy(module(x[index]), y[index]).backward()  # type: ignore[no-untyped-call]
            steps.step()
    return EPOCHS * len(y)


@torch.no_grad()
def accuracy(module: nn.Module, data: Data) -> float:
    module.eval()
    parts = zip(data.test_x.split(1000), data.test_y.split(1000), strict=True)
    return sum(int((module(x).argmax(1) == y).sum()) for x, y in parts) / len(data.test_y)


@dataclass
class Clock:
    """When training began and when each round ended."""

    times: list[float] = field(default_factory=list)

    def tick(self) -> None:
        self.times.append(time.perf_counter())

    def report(self, *, versions: dict[str, str], accuracy: float, samples: int) -> None:
        """The one line that run.py reads."""
        rounds = np.diff(self.times).tolist()
        versions = {"torch": torch.__version__, **versions}
        print(json.dumps({"rounds": rounds, "accuracy": accuracy, "samples": samples, "versions": versions}))
