from __future__ import annotations

from typing import Any

import pytest
import torch

from fedward.base.validate import InvalidValue
from fedward.core.types import ServerOptimizer
from fedward.server import ServerAdam, ServerMomentum, ServerStep
from part_examples import SERVER_EXAMPLES

MEANS = [torch.tensor([1.0, -2.0], dtype=torch.float64), torch.tensor([0.5, 0.0], dtype=torch.float64)]


def after(server: ServerOptimizer) -> torch.Tensor:
    parameters = torch.zeros(2)
    state = server.init(parameters)
    for mean in MEANS:
        parameters, state = server.step(parameters, mean, state)
    return parameters


def test_a_step_adds_the_mean() -> None:
    torch.testing.assert_close(after(ServerStep()), torch.tensor([1.5, -2.0]))
    torch.testing.assert_close(after(ServerStep(learning_rate=0.5)), torch.tensor([0.75, -1.0]))


def test_momentum_carries_the_last_direction_on() -> None:
    torch.testing.assert_close(after(ServerMomentum(momentum=0.5)), torch.tensor([1.0 + 1.0, -2.0 - 1.0]))
    torch.testing.assert_close(after(ServerMomentum(momentum=0.0)), after(ServerStep()))


def test_adam_follows_its_formula() -> None:
    eta, b1, b2, tau = 0.1, 0.9, 0.99, 1e-3
    w, m, v = 0.0, 0.0, 0.0
    for mean in (1.0, 0.5):
        m = b1 * m + (1 - b1) * mean
        v = b2 * v + (1 - b2) * mean**2
        w += eta * m / (v**0.5 + tau)
    got = after(ServerAdam(learning_rate=eta, beta1=b1, beta2=b2, tau=tau))
    assert float(got[0]) == pytest.approx(w, rel=1e-6)


@pytest.mark.parametrize("server", SERVER_EXAMPLES, ids=str)
def test_a_step_changes_nothing_in_place_and_keeps_the_type(server: ServerOptimizer) -> None:
    parameters, mean = torch.ones(3), torch.ones(3, dtype=torch.float64)
    state = server.init(parameters)
    copies = [tensor.clone() for tensor in state]
    moved, _ = server.step(parameters, mean, state)
    assert moved.dtype == parameters.dtype
    assert torch.equal(parameters, torch.ones(3))
    assert torch.equal(mean, torch.ones(3, dtype=torch.float64))
    assert all(torch.equal(a, b) for a, b in zip(state, copies, strict=True))


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (ServerStep, {"learning_rate": 0.0}),
        (ServerStep, {"learning_rate": float("nan")}),
        (ServerMomentum, {"momentum": 1.0}),
        (ServerMomentum, {"learning_rate": -1.0}),
        (ServerAdam, {"beta1": 1.0}),
        (ServerAdam, {"beta2": -0.1}),
        (ServerAdam, {"tau": 0.0}),
        (ServerAdam, {"learning_rate": float("inf")}),
    ],
)
def test_impossible_settings_are_refused(kind: Any, settings: dict[str, float]) -> None:
    with pytest.raises(InvalidValue):
        kind(**settings)
