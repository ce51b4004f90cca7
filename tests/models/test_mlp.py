from __future__ import annotations

import pytest
import torch
from torch import nn

from fedward.base.validate import InvalidValue
from fedward.models import build
from fedward.models.mlp import mlp


def test_it_has_one_hidden_layer_of_a_hundred_units() -> None:
    model = mlp(input_shape=(1, 28, 28), num_classes=10)
    assert [type(layer).__name__ for layer in model] == ["Flatten", "Linear", "ReLU", "Linear"]
    assert [tuple(p.shape) for p in model.parameters()] == [(100, 784), (100,), (10, 100), (10,)]


def test_the_hidden_layer_may_have_another_size() -> None:
    model = build("mlp", input_shape=(1, 28, 28), num_classes=10, seed=0, hidden=32)
    assert [tuple(p.shape) for p in model.parameters()] == [(32, 784), (32,), (10, 32), (10,)]
    with pytest.raises(InvalidValue, match="hidden units must be"):
        build("mlp", input_shape=(1, 28, 28), num_classes=10, seed=0, hidden=0)


def test_every_pixel_counts_the_last_one_too() -> None:
    model = build("mlp", input_shape=(1, 8, 8), num_classes=10, seed=0)
    x = torch.zeros(1, 1, 8, 8, requires_grad=True)
    model(x)[0, 0].backward()
    assert x.grad is not None
    assert bool((x.grad != 0).all())


def test_the_last_pixel_counts_for_more_than_in_the_strided_convolutions() -> None:
    """Why the single-pixel backdoor is shown on this model: the other hardly sees the corner."""
    shares = {}
    for name in ("mlp", "mnist_cnn"):
        model = build(name, input_shape=(1, 28, 28), num_classes=10, seed=0)
        x = torch.rand(20, 1, 28, 28, generator=torch.Generator().manual_seed(0), requires_grad=True)
        nn.functional.cross_entropy(model(x), torch.zeros(20, dtype=torch.int64)).backward()  # type: ignore[no-untyped-call]
        assert x.grad is not None
        size = x.grad.abs().mean((0, 1))
        shares[name] = float(size[-1, -1] / size.mean())
    assert shares["mnist_cnn"] < 0.5 * shares["mlp"]
