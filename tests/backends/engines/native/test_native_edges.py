"""Where numbers end: divergence, what is not a number, ties and kinks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import event, given
from hypothesis import strategies as st
from torch import Tensor, nn

from backends.engines.native.oracles import (
    ROUNDING,
    Training,
    engine_of,
    gradients_of_examples,
    instruction_sets,
    size,
)
from backends.engines.native.stacks import Stack, drawn, stack_of, stacks
from fedward.core.examples import Examples
from fedward.local import SGD
from fedward.local.projected_sgd import Projected

_engine = pytest.importorskip(
    "fedward.backends.engines.native._engine", reason="the native engine was not compiled"
)


def finite(row: Any) -> bool:
    return bool(np.isfinite(np.asarray(row)).all())


@drawn(60)
@given(stacks(), st.sampled_from([1e30, 1e10, 1e38]), st.sampled_from([0.0, 0.9]), st.booleans())
def test_a_training_that_diverges_is_seen(stack: Stack, rate: float, momentum: float, bounded: bool) -> None:
    x, y = stack.examples(6)
    sgd = SGD(learning_rate=rate, batch_size=2, epochs=3, momentum=momentum, weight_decay=0.1)
    training = Training(stack, sgd, Examples(x, y), 0)
    loop = training.loop(Projected(sgd=sgd, bound=1e20) if bounded else None)
    found = training.native(engine_of(stack), 1e20 if bounded else 0.0)
    event(f"diverged: {not finite(loop)}")
    assert finite(loop) or not finite(found)


@drawn(60)
@given(stacks(), st.sampled_from([math.nan, math.inf, -math.inf]), st.integers(0, 999))
def test_an_example_that_is_not_a_number_is_seen(stack: Stack, value: float, seed: int) -> None:
    x, y = stack.examples(4, seed)
    x.view(-1)[seed % x.numel()] = value
    training = Training(
        stack, SGD(learning_rate=0.01, batch_size=2, epochs=2, momentum=0.5), Examples(x, y), seed
    )
    engine = engine_of(stack)
    assert finite(training.loop()) or not finite(training.native(engine))
    model = stack.flat()
    with torch.no_grad():
        loop = model(x).numpy()
    found = engine.scores(stack.start.numpy(), x.numpy(), 0, 4)
    # Also place by place: never a number where the loop has none.
    assert bool((np.isfinite(loop) | ~np.isfinite(found)).all())
    if math.isnan(value):
        assert np.array_equal(np.isnan(loop), np.isnan(found))


@pytest.mark.parametrize(
    "layers",
    [
        (nn.ReLU(), nn.MaxPool2d(2)),
        (nn.MaxPool2d(2), nn.ReLU()),
        (nn.Conv2d(2, 2, 1), nn.ReLU(), nn.MaxPool2d(2), nn.ReLU()),
        (nn.Conv2d(2, 2, 1), nn.MaxPool2d(2, padding=1, stride=2)),
        (nn.AvgPool2d(2), nn.ReLU()),
        (nn.Conv2d(2, 2, 1, stride=2),),
    ],
    ids=str,
)
def test_not_a_number_goes_through_where_torch_lets_it_through(layers: tuple[nn.Module, ...]) -> None:
    with torch.no_grad():
        features = nn.Sequential(*layers, nn.Flatten())(torch.zeros(1, 2, 5, 5)).shape[1]
    stack = stack_of(*layers, nn.Flatten(), nn.Linear(features, 2), shape=(2, 5, 5))
    x = stack.examples(1)[0].repeat(25, 1, 1, 1)
    for place in range(25):  # some pixels are seen by no window
        x[place, 1].view(-1)[place] = math.nan
    with torch.no_grad():
        wanted = np.isnan(stack.module(x).numpy())
    found = np.isnan(engine_of(stack).scores(stack.start.numpy(), x.numpy(), 0, 25))
    assert 0 < wanted.sum() <= wanted.size
    assert np.array_equal(found, wanted)


def convolution(stack: Stack) -> tuple[Tensor, Tensor]:
    """Weight and bias of the first layer."""
    assert isinstance(stack.module, nn.Sequential)
    layer = stack.module[0]
    assert isinstance(layer, nn.Conv2d)
    assert layer.bias is not None
    return layer.weight, layer.bias


def whole(stack: Stack, x: Tensor) -> tuple[Stack, Tensor]:
    """The stack and its input with small whole numbers, so that nothing is rounded before the pool."""
    with torch.no_grad():
        for parameter in convolution(stack):
            parameter.copy_(torch.round(parameter * 1.5).clamp(-1, 1))
    return stack, torch.round(x)


@pytest.mark.parametrize("instructions", instruction_sets())
@pytest.mark.parametrize(
    "pool", [nn.MaxPool2d(2), nn.MaxPool2d(3, stride=2, padding=1), nn.MaxPool2d((4, 1))]
)
@pytest.mark.parametrize("relu", [True, False])
def test_the_first_of_equal_maxima_gets_the_gradient(
    pool: nn.MaxPool2d, relu: bool, instructions: str
) -> None:
    between = [nn.ReLU()] if relu else []
    with torch.no_grad():
        features = nn.Sequential(pool, nn.Flatten())(torch.zeros(1, 9, 6, 7)).shape[1]
    stack = stack_of(
        nn.Conv2d(2, 9, 3, padding=1), *between, pool, nn.Flatten(), nn.Linear(features, 3), shape=(2, 6, 7)
    )
    stack, x = whole(stack, stack.examples(12)[0])
    y = torch.arange(12) % 3
    for constant in (False, True):
        if constant:  # every window is one tie, over inputs that are not alike
            with torch.no_grad():
                weight, bias = convolution(stack)
                weight.zero_()
                bias.fill_(0.5)
        wanted = gradients_of_examples(stack.double(), x.double(), y).mean(0).numpy()
        engine = engine_of(stack, instructions)
        found = engine.gradient(stack.start.numpy(), x.numpy(), y.numpy(), np.arange(12))
        assert size(wanted) > 0.1
        assert size(found - wanted) <= ROUNDING * size(wanted)


@pytest.mark.parametrize("instructions", instruction_sets())
def test_a_relu_at_exactly_zero_sends_nothing_back(instructions: str) -> None:
    stack = stack_of(
        nn.Conv2d(1, 3, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(12, 3), shape=(1, 6, 6)
    )
    x, y = stack.examples(5)
    with torch.no_grad():
        for parameter in convolution(stack):
            parameter.zero_()
    found = engine_of(stack, instructions).gradient(stack.start.numpy(), x.numpy(), y.numpy(), np.arange(5))
    wanted = gradients_of_examples(stack.double(), x.double(), y).mean(0).numpy()
    assert not found[:30].any()
    assert not wanted[:30].any()
    assert np.abs(found - wanted).max() <= 1e-6


def test_a_wide_linear_network_takes_many_examples_at_a_time_with_the_bits_of_one() -> None:
    """Its weights are most of what is read, once for all of them; what one example gives is its own."""
    stack = stack_of(nn.Linear(60, 20_000), nn.ReLU(), nn.Linear(20_000, 3), shape=(60,))
    engine, (x, _) = engine_of(stack), stack.examples(11)
    assert engine.chunk > 8
    weights = stack.start.numpy()
    together = engine.scores(weights, x.numpy(), 0, 11)
    alone = [engine.scores(weights, x.numpy(), place, 1) for place in range(11)]
    assert np.array_equal(together, np.concatenate(alone))
