from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from local.per_example.reference import assert_equals_one_by_one, batch, scored


@settings(max_examples=30)
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    last=st.integers(2, 6),
    normalised=st.integers(1, 4),
    size=st.integers(0, 5),
    bias=st.booleans(),
    seed=st.integers(0, 100),
)
def test_layer_norm_over_any_last_dimensions(
    shape: list[int], last: int, normalised: int, size: int, bias: bool, seed: int
) -> None:
    whole = [*shape, last]
    x, y = batch(size, *whole, seed=seed)
    layer = nn.LayerNorm(whole[-min(normalised, len(whole)) :], bias=bias)
    assert_equals_one_by_one(scored(layer, x), x, y)


@settings(max_examples=30)
@given(
    groups=st.integers(1, 3),
    per_group=st.integers(1, 3),
    spatial=st.lists(st.integers(2, 5), max_size=3),
    size=st.integers(0, 5),
    seed=st.integers(0, 100),
)
def test_group_norm_in_any_dimensions(
    groups: int, per_group: int, spatial: list[int], size: int, seed: int
) -> None:
    # Torch refuses to normalise a single number.
    per_group += not spatial
    x, y = batch(size, groups * per_group, *spatial, seed=seed)
    assert_equals_one_by_one(scored(nn.GroupNorm(groups, groups * per_group), x), x, y)


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.InstanceNorm1d(3, affine=True), (4, 3, 5)),
        (nn.InstanceNorm2d(3, affine=True), (4, 3, 5, 4)),
        (nn.InstanceNorm3d(2, affine=True), (3, 2, 2, 3, 4)),
    ],
)
def test_instance_norm(layer: nn.Module, shape: tuple[int, ...]) -> None:
    x, y = batch(*shape)
    assert_equals_one_by_one(scored(layer, x), x, y)


@pytest.mark.parametrize("frozen", ["weight", "bias"])
@pytest.mark.parametrize("layer", [nn.LayerNorm, lambda size: nn.GroupNorm(2, size)])
def test_what_is_frozen_is_left_out(frozen: str, layer: Any) -> None:
    x, y = batch(4, 6)
    module = scored(layer(6), x)
    module.get_parameter(f"layer.{frozen}").requires_grad_(False)
    assert_equals_one_by_one(module, x, y)


def test_it_stands_between_other_layers() -> None:
    x, y = batch(5, 3, 8, 8)
    layer = nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.Tanh(), nn.Flatten(), nn.LayerNorm(144))
    assert_equals_one_by_one(scored(layer, x), x, y)
