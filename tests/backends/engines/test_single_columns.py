from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn

from backends.engines.stand_ins import COPIES, assert_a_copy_is_its_own, assert_same_function
from fedward.backends.engines.flat_model import flat_model
from fedward.backends.engines.single_columns import avoid_overread

pairs = st.tuples(st.integers(1, 4), st.integers(1, 4))


def convolution(**options: Any) -> nn.Conv2d:
    torch.manual_seed(1)
    return nn.Conv2d(1, 6, **options)


def leave_nan_behind() -> None:
    """Freed memory of many sizes that holds no number, as after a training that diverged."""
    _ = [torch.full((2**power,), math.nan) for power in range(4, 17) for _ in range(3)]


@given(
    kernel=pairs,
    across=st.integers(2, 9),
    padding=st.tuples(st.integers(0, 2), st.integers(0, 2)) | st.just("valid"),
    dilation=st.sampled_from([1, (1, 2), (2, 1)]),
    bias=st.booleans(),
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
)
def test_reading_just_the_columns_is_the_same_function(
    kernel: tuple[int, int], across: int, padding: Any, dilation: Any, bias: bool, size: tuple[int, int]
) -> None:
    options: Any = {"stride": (1, across), "padding": padding, "dilation": dilation, "bias": bias}
    layer = convolution(kernel_size=kernel, **options).double()
    x = torch.randn(3, 1, *size, dtype=torch.float64)
    try:
        layer(x)
    except RuntimeError:
        assume(False)  # the kernel is larger than the picture
    assert_same_function(layer, x, avoid_overread)


def test_a_kernel_that_does_not_fit_is_refused_as_before() -> None:
    layer = convolution(kernel_size=(2, 5), stride=(1, 2))
    avoid_overread(layer)
    with pytest.raises(RuntimeError, match="Kernel size can't be greater"):
        layer(torch.randn(1, 1, 4, 3))


@pytest.mark.parametrize("kernel", [(5, 2), (3, 2), (1, 2)])
@pytest.mark.parametrize("stride", [(1, 2), (1, 3), (1, 4)])
def test_what_is_left_in_memory_does_not_get_into_a_flat_model(
    kernel: tuple[int, int], stride: tuple[int, int]
) -> None:
    # With AVX-512 torch itself fails here; elsewhere this cannot tell a way around from none.
    layer = convolution(kernel_size=kernel, stride=stride)
    x = torch.randn(4, 1, 10, 3)
    exact = copy.deepcopy(layer).double()(x.double()).detach()
    model = flat_model(layer)
    for _ in range(10):
        leave_nan_behind()
        torch.testing.assert_close(model(x).detach().double(), exact, rtol=1e-4, atol=1e-5)


def test_only_one_channel_with_a_stride_across_alone_is_touched() -> None:
    layers = nn.Sequential(
        convolution(kernel_size=3),
        convolution(kernel_size=3, stride=2),
        convolution(kernel_size=3, stride=(2, 1)),
        convolution(kernel_size=1, stride=(1, 2)),
        convolution(kernel_size=3, stride=(1, 2), padding=1, padding_mode="circular"),
        nn.Conv2d(2, 4, 3, stride=(1, 2)),
    )
    avoid_overread(layers)
    assert not any("_conv_forward" in vars(layer) for layer in layers)


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_has_parameters_of_its_own(copied: Any) -> None:
    layer = convolution(kernel_size=2, stride=(1, 3))
    avoid_overread(layer)
    assert_a_copy_is_its_own(layer, torch.randn(1, 1, 5, 4), copied)
