"""Three small settings for worker processes, and jobs of every kind."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import cloudpickle
import numpy as np
import torch
from torch import Tensor, nn

from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job, LocalTrainer, Row
from fedward.local import DPSGD
from support import tiny_federation, tiny_model, tiny_pictures, tiny_sgd

# Worker processes cannot import a test file by its name.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

DP = DPSGD(
    learning_rate=0.1, probability=0.5, expected_batch=3, steps=2, noise_multiplier=1.0, clip_bound=0.5
)


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.out = nn.Linear(6, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.out(self.embedding(tokens).mean(1))
        return scores


def seeded(make: Any) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        module: nn.Module = make()
        return module


def pictures_model() -> nn.Module:
    return seeded(
        lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(16, 3))
    )


def texts() -> Federation:
    rng = np.random.default_rng(0)
    several = [rng.integers(1, 20, size=rng.integers(1, 9)) for _ in range(40)]
    test = Examples(Ragged.from_sequences(several[:9]), torch.arange(9) % 2)
    return Federation.from_arrays(
        Ragged.from_sequences(several), np.arange(40) % 2, np.arange(40) % 10, test=test
    )


def start(module: nn.Module) -> Tensor:
    return ParameterSpec.of(module).flatten(module)


def job(parameters: Tensor, user: int, trainer: LocalTrainer, **changes: Any) -> Job:
    made = Job(parameters=parameters, user=user, num_examples=5, trainer=trainer, seed=2**100 + user)
    return replace(made, **changes)


PICTURES, TEXTS, TINY = tiny_pictures(), texts(), tiny_federation()
MODELS = {"pictures": pictures_model(), "texts": seeded(Words), "tiny": tiny_model()}
FEDERATIONS = {"pictures": PICTURES, "texts": TEXTS, "tiny": TINY}
STARTS = {name: start(module) for name, module in MODELS.items()}


def jobs_of(name: str) -> list[Job]:
    """Users in no order, two models, several trainers, private jobs, and data that is not the users' own."""
    first = STARTS[name]
    second = first + 0.01
    poisoned = FEDERATIONS[name].examples.select(torch.tensor([3, 1, 4, 1, 5]))
    made = []
    for count, user in enumerate((3, 1, 7, 3, 0, 9, 2, 2, 8, 5, 6, 4)):
        parameters = second if count % 3 == 1 else first
        trainer = DP if count % 4 == 3 else tiny_sgd(epochs=1 + count % 2, momentum=0.5)
        bad = {"version": "bad", "examples": poisoned} if count % 5 == 2 else {}
        made.append(job(parameters, user, trainer, private=trainer is DP, **bad))
    return made


def same(a: list[Row], b: list[Row]) -> bool:
    return len(a) == len(b) and all(
        x.user == y.user
        and x.norm == y.norm
        and x.update.dtype == y.update.dtype
        and torch.equal(x.update, y.update)
        for x, y in zip(a, b, strict=True)
    )
