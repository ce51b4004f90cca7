from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from fedward import models
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.parameters import FlatModule, ParameterSpec, flatten_state
from support import tiny_model

SHAPES = {"digits_cnn": (1, 8, 8), "mnist_cnn": (1, 28, 28)}


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3, bias=False)
        self.second = nn.Linear(3, 3, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x))  # type: ignore[no-any-return]


def test_flattening_and_loading_is_the_identity() -> None:
    model = tiny_model(seed=1)
    spec = ParameterSpec.of(model)
    vector = spec.flatten(model)
    other = tiny_model(seed=2)
    spec.load(other, vector)
    assert torch.equal(spec.flatten(other), vector)
    x = torch.randn(4, 3)
    assert torch.equal(model(x), other(x))
    assert spec.size == sum(p.numel() for p in model.parameters())


def test_a_flat_module_is_the_module_it_was_made_of() -> None:
    model, x = tiny_model(), torch.randn(5, 3)
    expected = model(x).detach()
    flat = FlatModule(model)
    assert torch.equal(flat.module(x), expected)
    flat.parameters.zero_()
    assert torch.equal(flat.module(x), torch.zeros(5, 2))


def test_convolutions_see_the_same_weights_and_images_in_the_other_layout() -> None:
    for channels in (1, 3):
        plain = nn.Sequential(
            nn.Conv2d(channels, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 2), nn.Flatten(), nn.LazyLinear(2)
        )
        x = torch.randn(5, channels, 8, 8)
        expected = plain(x).detach()
        expected_gradient = torch.autograd.grad(plain(x).square().sum(), list(plain.parameters()))
        flat = FlatModule(plain)
        torch.testing.assert_close(flat(x).detach(), expected)
        flat(x).square().sum().backward()  # type: ignore[no-untyped-call]
        views = flat.spec.views(flat.gradient)
        for view, gradient in zip(views.values(), expected_gradient, strict=True):
            torch.testing.assert_close(view, gradient, rtol=1e-4, atol=1e-4)


def test_backward_fills_the_flat_gradient_and_adds_to_it() -> None:
    model, reference = tiny_model(), tiny_model()
    flat = FlatModule(model)
    x, y = torch.randn(6, 3), torch.tensor([0, 1, 0, 1, 0, 1])
    cross_entropy(reference(x), y).backward()  # type: ignore[no-untyped-call]
    expected = torch.cat([p.grad.reshape(-1) for p in reference.parameters() if p.grad is not None])
    cross_entropy(flat.module(x), y).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(flat.gradient, expected)
    cross_entropy(flat.module(x), y).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(flat.gradient, 2 * expected)


def test_frozen_parameters_are_not_sent() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    model[0].requires_grad_(False)
    spec = ParameterSpec.of(model)
    assert spec.names == ("1.weight", "1.bias")
    frozen = model[0]
    assert isinstance(frozen, nn.Linear)
    before = frozen.weight.clone()
    flat = FlatModule(model)
    flat.parameters.fill_(7.0)
    assert torch.equal(frozen.weight, before)


def test_tied_parameters_are_sent_once() -> None:
    model = Tied()
    assert ParameterSpec.of(model).size == 9
    flat = FlatModule(model)
    flat.parameters.fill_(2.0)
    assert torch.equal(model.second.weight, torch.full((3, 3), 2.0))


def test_running_statistics_follow_the_parameters_and_are_not_trained() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    spec = ParameterSpec.of(model)
    assert spec.names[-2:] == ("1.running_mean", "1.running_var")
    flat = FlatModule(model)
    assert len(flat.weights) == spec.trainable == spec.size - 8
    before = flat.parameters.clone()
    flat.module.train()
    flat.module(torch.randn(16, 3) + 5)
    assert torch.equal(flat.weights, before[: spec.trainable])
    assert not torch.equal(flat.parameters[spec.trainable :], before[spec.trainable :])


@pytest.mark.parametrize("name", ["cifar_cnn", "digits_cnn", "lfw_cnn", "mlp", "mnist_cnn", "resnet18_light"])
def test_a_stored_state_is_flattened_as_its_module_is(name: str) -> None:
    model = models.build(name, input_shape=SHAPES.get(name, (3, 32, 32)), num_classes=2, seed=1)
    assert torch.equal(flatten_state(model.state_dict()), ParameterSpec.of(model).flatten(model))


def test_a_stored_state_with_more_than_is_trained_is_longer() -> None:
    frozen = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    frozen[0].requires_grad_(False)
    for model in (frozen, Tied()):
        assert flatten_state(model.state_dict()).numel() > ParameterSpec.of(model).size


def test_double_precision_models_stay_double() -> None:
    assert ParameterSpec.of(tiny_model().double()).dtype == torch.float64


def test_what_cannot_be_one_vector_is_refused() -> None:
    mixed = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())
    with pytest.raises(InvalidType, match="all be float32 or all float64"):
        ParameterSpec.of(mixed)
    with pytest.raises(InvalidType, match=r"got torch\.float16"):
        ParameterSpec.of(nn.Linear(2, 2).half())
    with pytest.raises(InvalidValue, match="no trainable parameters"):
        ParameterSpec.of(nn.ReLU())


@pytest.mark.parametrize("shape", [(7,), (9,), (8, 1), (1,), ()])
def test_a_vector_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    spec = ParameterSpec.of(nn.Linear(3, 2))
    with pytest.raises(InvalidValue, match=r"shape \(8,\)"):
        spec.views(torch.zeros(shape))
