from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from local.per_example.reference import assert_equals_one_by_one, batch, scored, seeded

KINDS: dict[int, Any] = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}


# Torch warns that it copies the input for some of these.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths:UserWarning")


@settings(max_examples=50)
@given(
    data=st.data(),
    dimensions=st.sampled_from([1, 1, 2, 2, 2, 3]),
    size=st.integers(0, 5),
    groups=st.integers(1, 3),
    bias=st.booleans(),
    mode=st.sampled_from(["zeros", "zeros", "reflect", "replicate", "circular"]),
    seed=st.integers(0, 100),
)
def test_it_is_the_gradient_of_each_example_for_any_shape(
    data: st.DataObject, dimensions: int, size: int, groups: int, bias: bool, mode: str, seed: int
) -> None:
    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(data.draw(st.integers(low, high)) for _ in range(dimensions))

    kernel, stride, dilation = each(1, 3), each(1, 3), each(1, 2)
    padding: Any = each(0, 2)
    if data.draw(st.integers(0, 3)) == 0:
        padding = data.draw(st.sampled_from(["same", "valid"]))
        stride = (1,) * dimensions if padding == "same" else stride
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    shape = [max(3, span) + data.draw(st.integers(0, 4 if dimensions < 3 else 1)) for span in spans]
    into, out = (groups * data.draw(st.integers(1, 3)) for _ in range(2))
    x, y = batch(size, into, *shape, seed=seed)
    layer = KINDS[dimensions](
        into,
        out,
        kernel,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
        bias=bias,
        padding_mode=mode,
    )
    assert_equals_one_by_one(scored(layer, x), x, y)


def test_it_is_so_where_gram_matrices_are_smaller_than_the_product() -> None:
    x, y = batch(4, 24, 3, 3)
    assert_equals_one_by_one(scored(nn.Conv2d(24, 32, 2), x), x, y)


@pytest.mark.parametrize(("kernel", "dilation"), [((2, 4), 1), ((4, 2), (1, 3)), ((3, 2), 2)])
@pytest.mark.parametrize("mode", ["zeros", "circular"])
def test_even_kernels_are_padded_to_the_same_size_on_one_side_more(
    kernel: tuple[int, int], dilation: Any, mode: Any
) -> None:
    x, y = batch(3, 2, 7, 6)
    layer = nn.Conv2d(2, 3, kernel, padding="same", dilation=dilation, padding_mode=mode)
    assert_equals_one_by_one(scored(layer, x), x, y)


def test_images_of_many_pixels() -> None:
    x, y = batch(2, 2, 24, 24)
    layer = nn.Sequential(nn.Conv2d(2, 3, 3), nn.AvgPool2d(22))
    assert_equals_one_by_one(scored(layer, x), x, y)


@pytest.mark.parametrize("frozen", ["weight", "bias"])
def test_what_is_frozen_is_left_out(frozen: str) -> None:
    x, y = batch(4, 2, 6, 6)
    module = scored(nn.Conv2d(2, 3, 3), x)
    module.get_parameter(f"layer.{frozen}").requires_grad_(False)
    assert_equals_one_by_one(module, x, y)


def test_a_network_of_convolutions_pooling_and_inplace_activations() -> None:
    x, y = batch(6, 1, 12, 12)
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2, padding=1),
        nn.ELU(inplace=True),
        nn.AvgPool2d(2, 1),
        nn.Conv2d(4, 6, 2),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(96, 3),
    )
    assert_equals_one_by_one(seeded(module), x, y)


def test_images_of_one_channel_and_an_output_of_one_pixel() -> None:
    x, y = batch(3, 1, 5, 5)
    module = seeded(nn.Sequential(nn.Conv2d(1, 3, 5), nn.Flatten()))
    assert_equals_one_by_one(module, x, y)
    assert module(x).shape == torch.Size([3, 3])
