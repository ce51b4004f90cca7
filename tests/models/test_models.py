from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from fedward.backends.engines.choice import Choice, Engine
from fedward.backends.engines.flat_model import flat_model
from fedward.backends.engines.native import available, why_not
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from fedward.datasets import digits
from fedward.local import SGD
from fedward.local.per_example import check_separable, clipped_sum
from fedward.local.per_example.one_by_one import clipped_one_by_one
from fedward.models import MODELS, build
from fedward.models.digits_cnn import digits_cnn
from fedward.models.lfw_cnn import lfw_cnn
from fedward.models.logistic_regression import logistic_regression
from fedward.models.mnist_cnn import mnist_cnn
from fedward.models.resnet18_light import block
from models.model_examples import SHAPES, inputs, made


def size(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def same(a: nn.Module, b: nn.Module) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


def trained(model: nn.Module) -> dict[str, nn.Parameter]:
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("num_classes", [2, 10])
def test_a_model_gives_one_number_for_each_class(name: str, num_classes: int) -> None:
    model = made(name, num_classes=num_classes)
    assert model(inputs(name, 3)).shape == (3, num_classes)
    assert model(inputs(name, 1)).shape == (1, num_classes)


FROM_ZEROS = {"linear_head"}


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(name: str) -> None:
    a, b, c = (made(name, seed=seed) for seed in (1, 1, 2))
    assert same(a, b)
    assert same(a, c) == (name in FROM_ZEROS)


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_has_a_finite_gradient_that_is_not_zero(name: str) -> None:
    model = made(name)
    nn.functional.cross_entropy(model(inputs(name)), torch.arange(3)).backward()  # type: ignore[no-untyped-call]
    for key, parameter in trained(model).items():
        assert parameter.grad is not None, key
        assert bool(torch.isfinite(parameter.grad).all()), key
        assert bool((parameter.grad != 0).any()), key


@pytest.mark.parametrize("name", MODELS)
def test_an_example_has_the_same_scores_alone_and_beside_others(name: str) -> None:
    model, x = made(name), inputs(name)
    for i in range(len(x)):
        torch.testing.assert_close(model(x[i : i + 1]), model(x)[i : i + 1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_no_model_mixes_or_remembers_examples(name: str) -> None:
    check_separable(made(name), inputs(name))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_goes_through_the_flat_vector_and_back(name: str) -> None:
    model, other, x = made(name, seed=1), made(name, seed=2), inputs(name)
    spec = ParameterSpec.of(model)
    assert set(spec.names) == trained(model).keys()
    assert spec.size == sum(p.numel() for p in trained(model).values()) == sum(spec.layer_sizes())
    before = model(x).detach()
    spec.load(other, spec.flatten(model))
    assert torch.equal(other(x), before)
    torch.testing.assert_close(flat_model(model)(x), before, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_clipped_gradients_of_single_examples_add_up(name: str) -> None:
    """Layer by layer where a model's layers have rules, one by one where they have none."""
    model, x, y = flat_model(made(name)), inputs(name), torch.tensor([0, 3, 9])
    model.module.train()
    for bounds in ((0.05,), (0.02,) * len(model.spec.layer_sizes())):
        torch.testing.assert_close(
            clipped_sum(model, x, y, bounds),
            clipped_one_by_one(model, x, y, bounds),
            rtol=1e-3,
            atol=1e-5 * bounds[0],
        )


NATIVE = {
    "digits_cnn",
    "mnist_cnn",
    "emnist_cnn",
    "cifar_cnn",
    "lfw_cnn",
    "linear_head",
    "logistic_regression",
    "mlp",
    "resnet18_light",
    "sentiment_lstm",
    "word_lstm",
}


@pytest.mark.skipif(not available(), reason="the native engine was not compiled")
@pytest.mark.parametrize("name", MODELS)
def test_which_models_the_native_engine_covers(name: str) -> None:
    reason = why_not(made(name), SHAPES[name])
    assert (reason == "") == (name in NATIVE), reason


@pytest.mark.skipif(not available(), reason="the native engine was not compiled")
@pytest.mark.parametrize("name", ["emnist_cnn", "cifar_cnn", "lfw_cnn"])
def test_both_engines_train_a_model_alike(name: str) -> None:
    model = made(name)
    job = Job(
        parameters=ParameterSpec.of(model).flatten(model),
        user=0,
        num_examples=3,
        trainer=SGD(learning_rate=0.1, batch_size=2, epochs=1),
        seed=1,
    )
    examples = Examples(inputs(name), torch.tensor([0, 3, 9]))
    engines: list[Choice] = ["native", "generic"]
    updates = [Engine(model, engine=engine).train(job, examples).update for engine in engines]
    assert float(updates[0].norm()) > 1e-3
    torch.testing.assert_close(updates[0], updates[1], rtol=0, atol=1e-6)


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
    pool = model[2]
    assert isinstance(pool, nn.MaxPool2d)
    assert (pool.kernel_size, pool.stride) == (2, 1)
    assert model[:6](torch.zeros(1, 1, 28, 28)).shape == (1, 32, 4, 4)
    assert size(model) == 26_010


LAYERS = {
    "emnist_cnn": [(32, 1, 3, 3), (64, 32, 3, 3), (128, 9216), (10, 128)],
    "cifar_cnn": [(32, 3, 3, 3), (64, 32, 3, 3), (64, 64, 3, 3), (128, 64, 3, 3), (10, 128)],
    "lfw_cnn": [(32, 3, 3, 3), (64, 32, 3, 3), (128, 64, 3, 3), (256, 128), (10, 256)],
}


@pytest.mark.parametrize("name", LAYERS)
def test_the_layers_are_those_that_the_papers_name(name: str) -> None:
    model = made(name)
    assert [tuple(p.shape) for p in model.parameters() if p.ndim > 1] == LAYERS[name]
    kinds = [type(layer) for layer in model.modules()]
    pools = {"emnist_cnn": (1, 0, 0), "cifar_cnn": (0, 3, 1), "lfw_cnn": (3, 0, 0)}[name]
    assert tuple(map(kinds.count, (nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d))) == pools
    assert kinds.count(nn.ReLU) == len(LAYERS[name]) - 1


def test_resnet18_has_eighteen_layers_and_normalises_each_convolution_by_groups() -> None:
    model = made("resnet18_light")
    layers = [layer for layer in model.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    shortcuts = [layer for layer in layers if isinstance(layer, nn.Conv2d) and layer.kernel_size == (1, 1)]
    norms = [layer for layer in model.modules() if isinstance(layer, nn.GroupNorm)]
    assert len(layers) - len(shortcuts) == 18
    assert (len(shortcuts), len(norms)) == (3, 20)
    assert all(norm.num_channels // norm.num_groups >= 4 for norm in norms)
    assert not any("BatchNorm" in type(layer).__name__ for layer in model.modules())


def test_a_residual_block_adds_its_input() -> None:
    same = block(8, 8)
    for parameter in same.path.parameters():
        nn.init.zeros_(parameter)
    x = torch.rand(2, 8, 4, 4)
    assert torch.equal(same(x), x)
    assert block(8, 16, stride=2)(x).shape == (2, 16, 2, 2)


def test_faces_of_other_sizes_are_read_and_too_small_ones_refused() -> None:
    assert lfw_cnn(input_shape=(3, 62, 47), num_classes=2)(torch.rand(1, 3, 62, 47)).shape == (1, 2)
    for shape in [(3, 21, 48), (1, 48, 48), (48, 48)]:
        with pytest.raises(InvalidValue, match=r"lfw_cnn must be 3 channels of at least 22 x 22 pixels, got"):
            lfw_cnn(input_shape=shape, num_classes=2)


def test_digits_cnn_learns_the_digits() -> None:
    federation = digits.load(seed=0)
    assert federation.test is not None
    examples, test = federation.examples, federation.test
    model = build("digits_cnn", input_shape=(1, 8, 8), num_classes=10, seed=0)
    assert 5_000 <= size(model) <= 20_000
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(12):
        for index in torch.randperm(len(examples), generator=generator).split(64):  # type: ignore[no-untyped-call]
            x, y = examples.batch(index)
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
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
