from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from backends.engines.stand_ins import COPIES, assert_a_copy_is_its_own, assert_same_function
from fedward.backends.engines.flat_model import flat_model
from fedward.backends.engines.strided_points import avoid_overrun


def convolution(**options: Any) -> nn.Conv2d:
    torch.manual_seed(1)
    return nn.Conv2d(4, 6, 1, **options).double()


@given(
    stride=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    padding=st.tuples(st.integers(0, 2), st.integers(0, 2)) | st.just("valid"),
    groups=st.sampled_from([1, 2]),
    bias=st.booleans(),
    size=st.tuples(st.integers(1, 7), st.integers(1, 7)),
)
def test_picking_pixels_first_is_the_same_function(
    stride: tuple[int, int], padding: Any, groups: int, bias: bool, size: tuple[int, int]
) -> None:
    layer = convolution(stride=stride, padding=padding, groups=groups, bias=bias)
    x = torch.randn(3, 4, *size, dtype=torch.float64)
    assert_same_function(layer, x, avoid_overrun)


def test_only_points_with_a_stride_are_touched() -> None:
    layers = nn.Sequential(
        convolution(), nn.Conv2d(4, 4, 3, stride=2), convolution(stride=2, padding_mode="circular", padding=1)
    )
    avoid_overrun(layers)
    assert not any("_conv_forward" in vars(layer) for layer in layers)


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_has_parameters_of_its_own(copied: Any) -> None:
    layer = convolution(stride=2)
    avoid_overrun(layer)
    assert_a_copy_is_its_own(layer, torch.randn(1, 4, 5, 5, dtype=torch.float64), copied)


def test_a_flat_model_never_uses_the_stride_of_such_a_layer() -> None:
    model = flat_model(nn.Sequential(nn.Conv2d(3, 4, 1, stride=2), nn.Flatten(), nn.Linear(16, 2)))
    x = torch.randn(2, 3, 4, 4)
    loss = model(x)
    names, nodes = set(), [loss.grad_fn]
    while nodes:
        node = nodes.pop()
        if node is not None:
            names.add((node.name(), tuple(getattr(node, "_saved_stride", ()))))
            nodes += [following for following, _ in node.next_functions]
    assert {stride for name, stride in names if name.startswith("Convolution")} == {(1, 1)}
