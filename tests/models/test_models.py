from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from fedward.core.validate import InvalidType, InvalidValue
from fedward.datasets import digits
from fedward.models import MODELS, build
from fedward.models.digits_cnn import digits_cnn
from fedward.models.logistic_regression import logistic_regression
from fedward.models.mnist_cnn import mnist_cnn

SHAPES = {"digits_cnn": (1, 8, 8), "mnist_cnn": (1, 28, 28), "logistic_regression": (3, 5), "mlp": (2, 3)}


def size(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def same(a: nn.Module, b: nn.Module) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("num_classes", [2, 10])
def test_a_model_gives_one_number_for_each_class(name: str, num_classes: int) -> None:
    model = build(name, input_shape=SHAPES[name], num_classes=num_classes, seed=0)
    assert model(torch.zeros(7, *SHAPES[name])).shape == (7, num_classes)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(name: str) -> None:
    a, b, c = (build(name, input_shape=SHAPES[name], num_classes=10, seed=seed) for seed in (1, 1, 2))
    assert same(a, b)
    assert not same(a, c)


def test_building_neither_reads_nor_moves_the_global_generator() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    a = build("digits_cnn", input_shape=(1, 8, 8), num_classes=10, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(6)
    assert same(a, build("digits_cnn", input_shape=(1, 8, 8), num_classes=10, seed=1))


def test_the_generator_is_untouched_even_when_building_fails() -> None:
    before = torch.get_rng_state()
    with pytest.raises(InvalidValue):
        build("digits_cnn", input_shape=(1, 9, 9), num_classes=10, seed=1)
    assert torch.equal(torch.get_rng_state(), before)


def test_initial_weights_are_those_of_pytorch() -> None:
    model = build("logistic_regression", input_shape=(10_000,), num_classes=10, seed=0)
    weight = next(model.parameters()).detach()
    # Uniform in ±1/sqrt(inputs), PyTorch's default for a linear layer.
    assert 0.00999 < float(weight.abs().max()) <= 0.01
    assert float(weight.std()) == pytest.approx(0.01 / 3**0.5, rel=0.01)


def test_mnist_cnn_has_the_layers_that_the_papers_figures_were_made_with() -> None:
    model = mnist_cnn()
    assert [tuple(p.shape) for p in model.parameters()] == [
        (16, 1, 8, 8),
        (16,),
        (32, 16, 4, 4),
        (32,),
        (32, 512),
        (32,),
        (10, 32),
        (10,),
    ]
    kinds = "Conv2d ReLU MaxPool2d Conv2d ReLU MaxPool2d Flatten Linear ReLU Linear"
    assert [type(layer).__name__ for layer in model] == kinds.split()
    assert model[0](torch.zeros(1, 1, 28, 28)).shape == (1, 16, 14, 14)
    assert (model[2].kernel_size, model[2].stride) == (2, 1)
    assert model[:6](torch.zeros(1, 1, 28, 28)).shape == (1, 32, 4, 4)
    assert size(model) == 26_010


def test_no_model_normalises_over_the_batch() -> None:
    x = torch.randn(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    model = build("digits_cnn", input_shape=(1, 8, 8), num_classes=10, seed=0)
    torch.testing.assert_close(model(x)[:1], model(x[:1]))


def test_digits_cnn_learns_the_digits() -> None:
    federation = digits.load(seed=0)
    assert federation.test is not None
    examples, test = federation.examples, federation.test
    model = build("digits_cnn", input_shape=(1, 8, 8), num_classes=10, seed=0)
    assert 5_000 <= size(model) <= 20_000
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(12):
        for index in torch.randperm(len(examples), generator=generator).split(64):
            x, y = examples.batch(index)
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimiser.step()
    assert float((model(test.x).argmax(1) == test.y).float().mean()) >= 0.95


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("digits_cnn", (1, 28, 28), r"digits_cnn must be \(1, 8, 8\), got \(1, 28, 28\)"),
        ("digits_cnn", (8, 8), r"digits_cnn must be \(1, 8, 8\), got \(8, 8\)"),
        ("mnist_cnn", (3, 32, 32), r"mnist_cnn must be \(1, 28, 28\), got \(3, 32, 32\)"),
        ("logistic_regression", (), r"must have at least one dimension, got \(\)"),
        ("logistic_regression", (3, 0), "must be at least 1, got 0"),
        ("mlp", (), r"must have at least one dimension, got \(\)"),
    ],
)
def test_a_shape_that_a_model_cannot_take_is_refused(name: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(InvalidValue, match=f"input shape of .*{message}"):
        build(name, input_shape=shape, num_classes=10, seed=0)


@pytest.mark.parametrize("shape", [64, None, (2.5,)])
def test_a_shape_of_a_wrong_type_is_refused(shape: Any) -> None:
    with pytest.raises(InvalidType, match="input shape of logistic_regression"):
        logistic_regression(input_shape=shape, num_classes=2)


def test_wrong_names_and_numbers_are_refused() -> None:
    with pytest.raises(InvalidValue, match=r"model must be one of .* did you mean 'mnist_cnn'"):
        build("mnist_cmm", input_shape=(1, 28, 28), num_classes=10, seed=0)
    for factory in (digits_cnn, mnist_cnn):
        with pytest.raises(InvalidValue, match="number of classes must be at least 2, got 1"):
            factory(num_classes=1)
    with pytest.raises(InvalidValue, match="seed must be at least 0, got -1"):
        build("digits_cnn", input_shape=(1, 8, 8), num_classes=10, seed=-1)
