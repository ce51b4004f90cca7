from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds
from fedward.local import DPSGD, SGD
from fedward.testing import check_local_trainer
from support import tiny_picture_model, tiny_pictures
from testing.caught import caught

PLAIN: dict[str, Any] = {"learning_rate": 0.1, "batch_size": 2, "epochs": 1}
PRIVATE: dict[str, Any] = {
    "learning_rate": 0.1,
    "probability": 0.4,
    "expected_batch": 2.0,
    "steps": 1,
    "noise_multiplier": 1.0,
    "clip_bound": 0.5,
}


@dataclass(frozen=True, kw_only=True)
class NormalisesData(SGD):
    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        assert isinstance(examples.x, torch.Tensor)
        examples.x.div_(2)
        super().train(model, examples, rng)


@dataclass(frozen=True, kw_only=True)
class ShufflesByTorch(SGD):
    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        super().train(model, examples.select(torch.randperm(len(examples))), rng)


@dataclass(frozen=True, kw_only=True)
class DoesNothing(SGD):
    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        """Leaves the model as it is."""


@dataclass(frozen=True, kw_only=True)
class DividesByOthers(SGD):
    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        super().train(model, examples, rng)
        model.parameters.mul_(len(examples) / torch.tensor(float(len(examples) - 1)))


@dataclass(frozen=True, kw_only=True)
class ReportsNoNorm(SGD):
    def train(  # type: ignore[override]
        self, model: FlatModule, examples: Examples, rng: np.random.Generator
    ) -> float:
        super().train(model, examples, rng)
        return -1.0


@dataclass(frozen=True, kw_only=True)
class ComesLate(SGD):
    def decisive_rounds(self, rounds: int) -> tuple[int, ...]:
        return (rounds,)


@dataclass(frozen=True, kw_only=True)
class ForgetsItsNoise(DPSGD):
    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        SGD(learning_rate=0.1, batch_size=100, epochs=1).train(model, examples, np.random.default_rng(0))


@dataclass(frozen=True, kw_only=True)
class TakesAnyModel(DPSGD):
    def check_model(self, module: nn.Module, x: torch.Tensor) -> None:
        """Refuses nothing."""


@dataclass(frozen=True, kw_only=True)
class RoundsAtRandom(SGD):
    def at_round(self, round: int, bounds: Bounds) -> SGD:
        return replace(self, learning_rate=float(np.random.default_rng().uniform(0.1, 0.2)))


@pytest.mark.parametrize(
    ("trainer", "fault"),
    [
        (NormalisesData(**PLAIN), "train changed its input in place"),
        (ShufflesByTorch(**PLAIN), "changed the state of the global generator of torch"),
        (DoesNothing(**PLAIN), "training changed nothing"),
        (DividesByOthers(**PLAIN), "one example gave the update [-inf"),
        (ReportsNoNorm(**PLAIN), "train returned -1.0"),
        (ComesLate(**PLAIN), "decisive_rounds(1) is [1]"),
        (ForgetsItsNoise(**PRIVATE), "some coordinates of its update have no noise"),
        (TakesAnyModel(**PRIVATE), "check_model took a model with batch normalisation"),
        (RoundsAtRandom(**PLAIN), "gave two trainers that differ"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_trainer_is_caught(trainer: Any, fault: str) -> None:
    assert fault in caught(check_local_trainer, trainer)


def test_a_trainer_is_tried_on_other_data_and_models() -> None:
    check_local_trainer(SGD(**PLAIN), model=tiny_picture_model(), federation=tiny_pictures())
