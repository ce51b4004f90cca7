from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from local.per_example.reference import assert_equals_one_by_one, batch, scored, seeded


@settings(max_examples=30)
@given(
    size=st.integers(0, 7),
    positions=st.lists(st.integers(1, 6), max_size=3),
    into=st.integers(1, 40),
    out=st.integers(1, 40),
    bias=st.booleans(),
    seed=st.integers(0, 100),
)
def test_it_is_the_gradient_of_each_example_on_inputs_of_any_rank(
    size: int, positions: list[int], into: int, out: int, bias: bool, seed: int
) -> None:
    x, y = batch(size, *positions, into, seed=seed)
    assert_equals_one_by_one(scored(nn.Linear(into, out, bias=bias), x), x, y)


@pytest.mark.parametrize("positions", [1, 2, 30])
def test_it_is_so_for_one_few_and_many_positions(positions: int) -> None:
    """The three ways to take the norm: rank one, Gram matrices, the product."""
    x, y = batch(5, positions, 60)
    assert_equals_one_by_one(scored(nn.Linear(60, 50), x), x, y)


@pytest.mark.parametrize("frozen", ["weight", "bias"])
@pytest.mark.parametrize("shape", [(4, 6), (4, 5, 6)])
def test_what_is_frozen_is_left_out(frozen: str, shape: tuple[int, ...]) -> None:
    x, y = batch(*shape)
    module = scored(nn.Linear(6, 8), x)
    module.get_parameter(f"layer.{frozen}").requires_grad_(False)
    assert_equals_one_by_one(module, x, y)


def test_a_model_may_be_one_layer() -> None:
    x, y = batch(6, 4)
    assert_equals_one_by_one(seeded(nn.Linear, 4, 3), x, y)
