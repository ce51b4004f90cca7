from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fedward.testing import check_model
from testing.caught import caught

INPUTS = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))


class Own(nn.Module):
    """A linear model, in some way broken."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Any:
        return self.layer(x)


class TooFewClasses(Own):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x)[:, :1]


class NotFinite(Own):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x) / 0


class DropsOutAlways(Own):
    def forward(self, x: Tensor) -> Any:
        return nn.functional.dropout(super().forward(x), 0.5, training=True)


class Counts(Own):
    """Gives other scores each time."""

    numbers = itertools.count()

    def forward(self, x: Tensor) -> Any:
        return super().forward(x) + next(self.numbers)


class Squeezes(Own):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x).squeeze(0)


class Centres(Own):
    def forward(self, x: Tensor) -> Any:
        return super().forward(x - x.mean(0))


class Detached(Own):
    def forward(self, x: Tensor) -> Any:
        return (super().forward(x) * 0).detach() + self.layer.bias * 0


class HoldsALock(Own):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (TooFewClasses, "Return a score for each example and class, shape (4, 2)"),
        (NotFinite, "Let scores be finite before training"),
        (DropsOutAlways, "changed the state of the global generator of torch"),
        (Counts, "and then"),
        (Squeezes, "a batch of one example gave"),
        (Centres, "in a batch and"),
        (Detached, "the gradient of its loss is [0, 0, 0, 0, ...]"),
        (HoldsALock, "cannot pickle '_thread.lock' object"),
    ],
)
def test_a_broken_model_is_caught(kind: Any, fault: str) -> None:
    assert fault in caught(check_model, kind(), INPUTS, 2)


def test_batch_normalisation_is_said_and_no_error_without_privacy() -> None:
    report = check_model(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), INPUTS, 2)
    (skipped,) = report.skipped
    assert skipped.promise == "has no batch normalisation"
    assert "layer 1 is BatchNorm1d, which is refused under differential privacy" in skipped.reason


def test_the_model_stays_as_it_was() -> None:
    model = Own()
    before = model.layer.weight.detach().clone()
    check_model(model, INPUTS, 2)
    assert torch.equal(model.layer.weight, before)
    assert model.layer.weight.grad is None
    assert model.training
