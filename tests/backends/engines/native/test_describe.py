"""Which models the native engine takes, as what, and why it refuses the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from torch.nn.utils.parametrize import register_parametrization

from backends.engines.native.oracles import engine_of
from backends.engines.native.stacks import Stack, random_stack
from fedward.backends.engines.native.describe import Described, NotCovered, describe
from fedward.core.parameters import ParameterSpec
from fedward.models import build
from fedward.models.residual import Residual


def described(module: nn.Module, *shape: int) -> Described:
    return describe(module, ParameterSpec.of(module), shape)


def reason(module: nn.Module, *shape: int) -> str:
    with pytest.raises(NotCovered) as refused:
        described(module, *shape)
    return str(refused.value)


def kinds(found: Described) -> list[str]:
    return [layer["kind"] for layer in found.layers]


def ending(features: int, classes: int = 2) -> tuple[nn.Module, nn.Module]:
    return nn.Flatten(), nn.Linear(features, classes)


def assert_scores_agree(module: nn.Module, *shape: int) -> None:
    """Beside the module itself: a description may be wrong without being impossible."""
    pytest.importorskip(
        "fedward.backends.engines.native._engine", reason="the native engine was not compiled"
    )
    stack = Stack(module, shape, 0)
    x = torch.randn(3, *shape, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        wanted = module(x).numpy()
    found = engine_of(stack).scores(stack.start.numpy(), x.numpy(), 0, 3)
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= 1e-5 * max(1.0, np.abs(wanted).max())


def test_a_model_becomes_its_layers_in_order() -> None:
    module = nn.Sequential(
        nn.Conv2d(3, 4, (3, 2), stride=(1, 2), padding=(1, 0)),
        nn.ReLU(),
        nn.Identity(),
        nn.Sequential(
            nn.MaxPool2d(2, stride=1), nn.AvgPool2d((1, 3), padding=(0, 1), count_include_pad=False)
        ),
        nn.AdaptiveAvgPool2d((None, 2)),
        *ending(4 * 5 * 2, 7),
    )
    found = described(module, 3, 6, 7)
    assert (found.channels, found.height, found.width) == (3, 6, 7)
    assert found.layers == (
        {
            "kind": "convolution",
            "outputs": 4,
            "kernel": (3, 2),
            "stride": (1, 2),
            "padding": (1, 0),
            "weight_at": 0,
            "bias_at": 72,
        },
        {"kind": "relu"},
        {"kind": "largest", "kernel": (2, 2), "stride": (1, 1), "padding": (0, 0)},
        {"kind": "mean", "kernel": (1, 3), "stride": (1, 3), "padding": (0, 1), "counts_padding": False},
        {"kind": "adaptive_mean", "out": (5, 2)},
        {
            "kind": "convolution",
            "outputs": 7,
            "kernel": (5, 2),
            "channels_last": False,
            "weight_at": 76,
            "bias_at": 76 + 280,
        },
    )
    assert_scores_agree(module, 3, 6, 7)


@pytest.mark.parametrize("seed", range(40))
def test_random_stacks_are_covered(seed: int) -> None:
    stack = random_stack(seed)
    found = described(stack.module, *stack.shape)
    expected = [layer for layer in stack.layers if not isinstance(layer, (nn.Flatten, nn.Identity))]
    # A block is a branch, a shortcut, a sum and a ReLU.
    assert len(found.layers) == len(expected) + 3 * sum(isinstance(each, Residual) for each in expected)


@pytest.mark.parametrize(
    ("layers", "shape"),
    [
        ((nn.Linear(5, 2),), (5,)),
        ((nn.Linear(5, 2, bias=False),), (5,)),
        ((nn.Flatten(), nn.Linear(12, 2)), (12,)),
        ((nn.Flatten(), nn.Linear(12, 2)), (3, 4)),
        ((nn.Flatten(), nn.Linear(24, 2)), (2, 3, 2, 2)),
        ((nn.ReLU(), nn.Linear(5, 2), nn.ReLU(), nn.ReLU()), (5,)),
        ((nn.ReLU(inplace=False), *ending(8)), (2, 2, 2)),
        ((nn.Conv2d(2, 3, 2), nn.Flatten()), (2, 2, 2)),
        ((nn.Conv2d(2, 3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten()), (2, 4, 5)),
        ((nn.Conv2d(2, 3, 3, padding="same"), *ending(3 * 20)), (2, 4, 5)),
        ((nn.Conv2d(2, 3, (1, 5), padding="same"), *ending(3 * 20)), (2, 4, 5)),
        ((nn.Conv2d(2, 3, (2, 3), padding="valid"), *ending(3 * 9)), (2, 4, 5)),
        ((nn.MaxPool2d([2, 1]), *ending(2 * 2 * 5)), (2, 4, 5)),  # type: ignore[arg-type]
        ((nn.MaxPool2d((2,)), *ending(2 * 2 * 2)), (2, 4, 5)),
        ((nn.AvgPool2d(2, [1, 2], [1, 0]), *ending(2 * 5 * 2)), (2, 4, 5)),  # type: ignore[arg-type]
        ((nn.AdaptiveAvgPool2d([3, None]), *ending(2 * 3 * 5)), (2, 4, 5)),  # type: ignore[arg-type]
        ((nn.AdaptiveAvgPool2d((None, None)), *ending(2 * 4 * 5)), (2, 4, 5)),
        ((nn.AdaptiveAvgPool2d((9, 1)), *ending(2 * 9)), (2, 4, 5)),
        ((nn.GroupNorm(3, 6), nn.Linear(6, 2)), (6,)),
        ((nn.GroupNorm(2, 2, eps=0.3, affine=False), *ending(40)), (2, 4, 5)),
        ((Residual(nn.Identity(), nn.Identity()), *ending(40)), (2, 4, 5)),
        ((Residual(nn.Sequential(), nn.ReLU()), *ending(40)), (2, 4, 5)),
        ((nn.ReLU(), Residual(nn.ReLU(), nn.AvgPool2d(1)), *ending(40)), (2, 4, 5)),
        ((Residual(nn.Linear(6, 6), nn.Sequential(nn.Linear(6, 3), nn.Linear(3, 6))), nn.Linear(6, 2)), (6,)),
        ((Residual(nn.Conv2d(2, 2, 3, padding=1), nn.MaxPool2d(3, 1, 1)), *ending(40)), (2, 4, 5)),
        ((Residual(nn.Conv2d(2, 3, 5, 2, 2), nn.Conv2d(2, 3, 1, 2)), *ending(18)), (2, 4, 5)),
    ],
    ids=str,
)
def test_forms_that_torch_takes_mean_here_what_they_mean_there(
    layers: tuple[nn.Module, ...], shape: tuple[int, ...]
) -> None:
    assert_scores_agree(nn.Sequential(*layers), *shape)


def test_a_residual_block_becomes_a_branch_its_two_ways_and_their_sum() -> None:
    path = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.GroupNorm(2, 4))
    module = nn.Sequential(Residual(path, nn.Conv2d(2, 4, 1)), *ending(4 * 12))
    assert kinds(described(module, 2, 3, 4)) == [
        *("branch", "convolution", "normalisation", "shortcut", "convolution", "sum", "relu", "convolution")
    ]
    normalisation = described(module, 2, 3, 4).layers[2]
    assert normalisation == {
        "kind": "normalisation",
        "groups": 2,
        "epsilon": 1e-5,
        "weight_at": 72,
        "bias_at": 76,
    }
    assert_scores_agree(module, 2, 3, 4)


def test_a_block_that_something_was_done_to_is_refused() -> None:
    class Scaled(Residual):
        pass

    def block() -> Residual:
        return Residual(nn.Conv2d(1, 1, 1), nn.Identity())

    assert (
        reason(nn.Sequential(Scaled(nn.Identity(), nn.Identity()), *ending(16)), 1, 4, 4)
        == "it has a layer Scaled"
    )
    hooked = block()
    hooked.register_forward_hook(nothing)
    assert reason(nn.Sequential(hooked, *ending(16)), 1, 4, 4) == "something is hooked to 0"
    hooked = block()
    hooked.path.register_forward_hook(nothing)
    assert reason(nn.Sequential(hooked, *ending(16)), 1, 4, 4) == "something is hooked to 0.path"
    frozen = block()
    next(frozen.parameters()).requires_grad_(False)
    assert reason(nn.Sequential(frozen, *ending(16)), 1, 4, 4) == "some of its parameters are frozen"
    shared = nn.Conv2d(1, 1, 1)
    module = nn.Sequential(Residual(shared, shared), *ending(16))
    assert reason(module, 1, 4, 4) == "some of its parameters are used twice"
    extra = block()
    extra.register_parameter("scale", nn.Parameter(torch.ones(1)))
    module = nn.Sequential(extra, *ending(16))
    assert reason(module, 1, 4, 4) == "its parameter 0.scale belongs to no layer that is known"
    assert (
        reason(nn.Sequential(Residual(nn.Tanh(), nn.Identity()), *ending(16)), 1, 4, 4)
        == "it has a layer Tanh"
    )


@pytest.mark.parametrize(
    ("path", "shortcut"),
    [
        (nn.Conv2d(2, 3, 1), nn.Identity()),
        (nn.Conv2d(2, 2, 3), nn.Identity()),
        (nn.Identity(), nn.Conv2d(2, 2, 1, stride=2)),
        (nn.Flatten(), nn.Identity()),
        (nn.Conv2d(2, 2, 1), nn.AdaptiveAvgPool2d(1)),  # torch would spread the one pixel over all
    ],
    ids=str,
)
def test_two_ways_that_end_differently_are_refused(path: nn.Module, shortcut: nn.Module) -> None:
    why = "the path and the shortcut of its block 0 end with different shapes"
    assert reason(nn.Sequential(Residual(path, shortcut), *ending(8)), 2, 4, 4) == why


def test_a_relu_that_changes_what_both_ways_read_is_refused() -> None:
    inplace = nn.ReLU(inplace=True)
    for path, shortcut, name in (
        (inplace, nn.Identity(), "0.path"),
        (nn.Sequential(nn.Identity(), inplace), nn.Identity(), "0.path.1"),
        (nn.Identity(), inplace, "0.shortcut"),
        (nn.Conv2d(2, 2, 1), nn.Sequential(inplace), "0.shortcut.0"),
        (Residual(inplace, nn.Conv2d(2, 2, 1)), nn.Identity(), "0.path.path"),
    ):
        module = nn.Sequential(Residual(path, shortcut), *ending(8))
        assert reason(module, 2, 2, 2) == f"its layer {name} changes what another branch reads"
    # Elsewhere nobody sees it.
    path = nn.Sequential(nn.Conv2d(2, 2, 1), inplace, nn.GroupNorm(1, 2), inplace)
    assert_scores_agree(nn.Sequential(inplace, Residual(path, nn.Identity()), inplace, *ending(8)), 2, 2, 2)


def test_the_residual_network_of_the_package_is_covered() -> None:
    module = build("resnet18_light", input_shape=(3, 32, 32), num_classes=10, seed=3)
    found = kinds(described(module, 3, 32, 32))
    assert [found.count(kind) for kind in ("convolution", "normalisation", "sum")] == [21, 20, 8]
    assert_scores_agree(module, 3, 32, 32)


def test_a_layer_alone_is_a_model() -> None:
    assert described(nn.Linear(5, 3), 5).layers[0]["bias_at"] == 15
    assert_scores_agree(nn.Linear(5, 3), 5)


def test_a_layer_without_parameters_may_stand_in_two_places() -> None:
    relu, pool = nn.ReLU(), nn.MaxPool2d(2)
    stage = nn.Sequential(pool, relu)
    module = nn.Sequential(nn.Conv2d(1, 4, 3), relu, stage, nn.Conv2d(4, 4, 2), relu, stage, *ending(4))
    assert kinds(described(module, 1, 8, 8)).count("relu") == 4
    assert kinds(described(module, 1, 8, 8)).count("largest") == 2
    assert_scores_agree(module, 1, 8, 8)


def test_a_model_is_not_changed_by_being_described() -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 2), *ending(18))
    spec, before = ParameterSpec.of(module), ParameterSpec.of(module).flatten(module)
    assert describe(module, spec, (1, 4, 4)) == describe(module, spec, (1, 4, 4))
    assert torch.equal(before, spec.flatten(module))


class Doubled(nn.Conv2d):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


class Renamed(nn.Linear):
    pass


class Stages(nn.Sequential):
    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
        return scores + 1


class Twice(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * x


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        (Doubled(1, 2, 1), "Doubled"),
        (nn.Sequential(nn.Flatten(), Renamed(16, 2)), "Renamed"),
        (Stages(nn.ReLU()), "Stages"),
        (nn.Dropout(), "Dropout"),
        (nn.BatchNorm2d(1), "BatchNorm2d"),
        (nn.LayerNorm(4), "LayerNorm"),
        (nn.Tanh(), "Tanh"),
        (nn.LeakyReLU(), "LeakyReLU"),
        (nn.Conv1d(1, 1, 1), "Conv1d"),
        (nn.ConvTranspose2d(1, 1, 1), "ConvTranspose2d"),
        (nn.AdaptiveMaxPool2d(1), "AdaptiveMaxPool2d"),
        (nn.ModuleList([nn.ReLU()]), "ModuleList"),
        (Twice(), "Twice"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_layer_of_another_kind_is_named(layer: nn.Module, name: str) -> None:
    assert reason(nn.Sequential(layer, *ending(16)), 1, 4, 4) == f"it has a layer {name}"


def test_a_softmax_at_the_end_is_named() -> None:
    assert reason(nn.Sequential(*ending(16), nn.Softmax(1)), 1, 4, 4) == "it has a layer Softmax"


def test_a_model_of_ones_own_is_named() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(*ending(16))

    assert reason(Net(), 1, 4, 4) == "it has a layer Net"


def convolutional() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), *ending(18))


def nothing(*arguments: Any) -> None:
    pass


@pytest.mark.parametrize(
    ("hook", "place"),
    [
        (lambda module: module[0].register_forward_hook(nothing), "0"),
        (lambda module: module[0].register_forward_pre_hook(nothing), "0"),
        (lambda module: module[1].register_full_backward_hook(nothing), "1"),
        (lambda module: module[3].register_full_backward_pre_hook(nothing), "3"),
        (lambda module: module[3].weight.register_hook(nothing), "3"),
        (lambda module: module[3].bias.register_post_accumulate_grad_hook(nothing), "3"),
        (lambda module: setattr(module[0], "forward", nothing), "0"),
        (lambda module: module.register_forward_hook(nothing), "it"),
    ],
)
def test_what_is_hooked_is_named(hook: Callable[[nn.Module], Any], place: str) -> None:
    module = convolutional()
    hook(module)
    assert reason(module, 1, 4, 4) == f"something is hooked to {place}"


def test_parametrizations_are_refused() -> None:
    class Exponential(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.exp()

    module = convolutional()
    parametrizations.weight_norm(module[0])
    assert reason(module, 1, 4, 4) == "it has a layer ParametrizedConv2d"
    module = convolutional()
    register_parametrization(module[3], "bias", Exponential())
    assert reason(module, 1, 4, 4) == "it has a layer ParametrizedLinear"
    module = convolutional()
    with pytest.warns(FutureWarning):
        nn.utils.weight_norm(module[0])
    assert reason(module, 1, 4, 4) == "something is hooked to 0"


def test_frozen_parameters_are_refused() -> None:
    module = convolutional()
    module[0].bias.requires_grad_(False)
    assert reason(module, 1, 4, 4) == "some of its parameters are frozen"


def test_double_precision_is_refused() -> None:
    assert reason(convolutional().double(), 1, 4, 4) == "its parameters are torch.float64"


def test_parameters_that_are_used_twice_are_refused() -> None:
    linear = nn.Linear(4, 4)
    again = "some of its parameters are used twice"
    assert reason(nn.Sequential(linear, nn.ReLU(), linear), 4) == again
    assert reason(nn.Sequential(nn.Sequential(linear), nn.Sequential(nn.ReLU(), linear)), 4) == again
    tied = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    assert reason(tied, 4) == again
    tied = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    tied[1].bias = tied[0].bias
    assert reason(tied, 4) == again


def test_parameters_that_no_layer_uses_are_refused() -> None:
    for owner in (0, 1, None):
        module = convolutional()
        found = module if owner is None else module[owner]
        found.register_parameter("extra", nn.Parameter(torch.zeros(3)))
        name = "extra" if owner is None else f"{owner}.extra"
        assert reason(module, 1, 4, 4) == f"its parameter {name} belongs to no layer that is known"
    module = convolutional()
    module[0].add_module("inner", nn.Linear(1, 1))
    assert reason(module, 1, 4, 4) == "its parameter 0.inner.weight belongs to no layer that is known"


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (nn.Conv2d(2, 2, 2, groups=2), "has groups, dilation or another padding than zeros"),
        (nn.Conv2d(2, 2, 2, dilation=(1, 2)), "has groups, dilation or another padding than zeros"),
        (nn.Conv2d(2, 2, 2, padding=1, padding_mode="reflect"), "has groups, dilation or another padding"),
        (nn.Conv2d(2, 2, 2, padding=1, padding_mode="circular"), "has groups, dilation or another padding"),
        (nn.Conv2d(2, 2, (3, 2), padding="same"), "pads one side more than the other"),
        (nn.Conv2d(3, 2, 2), "takes 3 channels and gets 2"),
        (nn.MaxPool2d(2, ceil_mode=True), "has ceil_mode"),
        (nn.AvgPool2d(2, ceil_mode=True), "has ceil_mode"),
        (nn.MaxPool2d(2, return_indices=True), "has a dilation or returns indices"),
        (nn.MaxPool2d(2, dilation=2), "has a dilation or returns indices"),
        (nn.AvgPool2d(2, divisor_override=3), "has a divisor of its own"),
        (nn.MaxPool2d(2, padding=2), "pads more than half of its kernel"),
        (nn.AvgPool2d((2, 4), padding=(2, 0)), "pads more than half of its kernel"),
        (nn.AdaptiveAvgPool2d((0, 1)), "has no output"),
        (nn.Flatten(2), "does not flatten all of an example"),
        (nn.Flatten(0), "does not flatten all of an example"),
        (nn.Flatten(1, 2), "does not flatten all of an example"),
        (nn.Linear(4, 2), "does not take one row of 4 numbers"),
        (nn.GroupNorm(1, 3), "does not take 2 channels"),
        (nn.Sequential(nn.MaxPool2d(4), nn.GroupNorm(2, 2)), ".1 has groups of one number"),
        (nn.Sequential(nn.Flatten(), nn.GroupNorm(4, 32)), ".1 does not take 2 channels"),
    ],
    ids=str,
)
def test_an_option_that_is_not_covered_is_named_with_its_layer(layer: nn.Module, why: str) -> None:
    found = reason(nn.Sequential(nn.Sequential(nn.ReLU(), layer), *ending(8)), 2, 4, 4)
    assert found.startswith(f"its layer 0.1{why}" if why.startswith(".") else f"its layer 0.1 {why}")


def test_layers_that_do_not_fit_each_other_are_refused() -> None:
    assert reason(nn.Sequential(*ending(17)), 1, 4, 4) == "its layer 1 does not take one row of 17 numbers"
    for layer in (nn.Conv2d(16, 2, 1), nn.MaxPool2d(1), nn.AvgPool2d(1), nn.AdaptiveAvgPool2d(1)):
        module = nn.Sequential(nn.Flatten(), layer, nn.Linear(16, 2))
        assert reason(module, 1, 4, 4) == "a layer for images comes after the image was flattened"
        assert reason(nn.Sequential(layer, nn.Linear(16, 2)), 16).startswith("a layer for images comes after")
    for layer in (
        nn.Conv2d(1, 1, 5),
        nn.Conv2d(1, 1, (1, 7), padding=1),
        nn.MaxPool2d(5),
        nn.AvgPool2d((1, 5)),
    ):
        assert reason(nn.Sequential(layer, *ending(1)), 1, 4, 4) == "a kernel is larger than its input"


def test_a_model_that_does_not_end_with_scores_is_refused() -> None:
    for layers in (
        (nn.Conv2d(1, 2, 3),),  # a picture
        (nn.Conv2d(1, 2, 4),),  # a picture of one pixel
        (nn.Conv2d(1, 2, 3), nn.Flatten()),
        (nn.Conv2d(1, 2, 4), nn.AdaptiveAvgPool2d(2), nn.Flatten()),
    ):
        assert reason(nn.Sequential(*layers), 1, 4, 4) == "it does not end with one row of scores"


def test_examples_of_a_shape_that_is_no_image_are_refused() -> None:
    assert reason(nn.Sequential(nn.Linear(4, 2)), 4, 4) == "examples have shape (4, 4)"
    assert reason(nn.Sequential(nn.Conv2d(1, 2, 3), *ending(8)), 4, 4) == "examples have shape (4, 4)"
    assert reason(nn.Sequential(nn.Linear(4, 2))) == "examples have shape ()"
    assert reason(nn.Sequential(nn.ReLU(), *ending(16)), 1, 1, 4, 4) == "examples have shape (1, 1, 4, 4)"
