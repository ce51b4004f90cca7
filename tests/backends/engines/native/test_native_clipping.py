"""What the native engine adds up for DP-SGD: no example may weigh more than its bound."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, event, given
from hypothesis import strategies as st
from torch import Tensor, nn

from backends.engines.native.oracles import (
    ROUNDING,
    Array,
    engine_of,
    gradients_of_examples,
    instruction_sets,
    same_bits,
    steepness,
    watched,
)
from backends.engines.native.stacks import Stack, drawn, small_cnn, stack_of, stacks
from fedward.core.parameters import ParameterSpec
from fedward.local.per_example import clipped_sum

_engine = pytest.importorskip(
    "fedward.backends.engines.native._engine", reason="the native engine was not compiled"
)

# What the margin below the bound and the loop's own measure of a norm may cost.
SLACK = 2.0**-16


def native(
    stack: Stack, x: Tensor, y: Tensor, bounds: tuple[float, ...], index: Any = None, engine: Any = None
) -> Array:
    index = np.arange(len(x)) if index is None else np.asarray(index, dtype=np.int64)
    found: Array = (engine or engine_of(stack)).clipped_sum(
        stack.start.numpy(), x.numpy(), y.numpy(), index, list(bounds)
    )
    assert found.dtype == np.float64
    return found


def split(stack: Stack, vector: Any, groups: int) -> list[Array]:
    """The parts of a vector that have bounds of their own."""
    vector = np.asarray(vector, dtype=np.float64)
    sizes = ParameterSpec.of(stack.module).layer_sizes()
    return [vector] if groups == 1 else np.split(vector, np.cumsum(sizes)[:-1])


def norms(stack: Stack, vector: Any, groups: int) -> list[float]:
    return [float(np.linalg.norm(part)) for part in split(stack, vector, groups)]


def groups_of(stack: Stack, by_layer: bool) -> int:
    return len(ParameterSpec.of(stack.module).layer_sizes()) if by_layer else 1


def scaled(stack: Stack, factor: float) -> Stack:
    with torch.no_grad():
        for parameter in stack.module.parameters():
            parameter.mul_(factor)
    return stack


@drawn(100)
@given(stack=stacks(), by_layer=st.booleans(), which=st.integers(0, 2), seed=st.integers(0, 999))
def test_the_sum_is_that_of_the_python_engine(stack: Stack, by_layer: bool, which: int, seed: int) -> None:
    x, y = stack.examples(7, seed)
    module = stack.double()
    with watched(module) as kinks:
        single = gradients_of_examples(module, x.double(), y).numpy()
    assume(kinks.clear)
    groups = groups_of(stack, by_layer)
    measured = np.array([norms(stack, row, groups) for row in single])
    # So that all, some or none of the examples are clipped.
    chosen = (measured.min(0) / 2, np.median(measured, 0), measured.max(0) * 2)[which]
    bounds = tuple(float(bound) + 1e-9 for bound in chosen)
    model = stack.flat()
    loop = clipped_sum(model, x, y, bounds).numpy()
    found = native(stack, x, y, bounds)
    exact = [
        np.concatenate(
            [
                part * min(1.0, bound / max(float(np.linalg.norm(part)), 1e-300))
                for part, bound in zip(split(stack, row, groups), bounds, strict=True)
            ]
        )
        for row in single
    ]
    event(f"bounds: {min(groups, 3)}")
    shrunk = np.minimum(1.0, np.array(bounds) / np.maximum(measured, 1e-300)).max(1)
    rounding = ROUNDING * float(np.sum(shrunk * steepness(stack, x, y).numpy()))
    slack = SLACK * sum(float(np.linalg.norm(row)) for row in exact)
    assert np.linalg.norm(found - sum(exact)) <= rounding + slack
    assert np.linalg.norm(found - loop) <= 2 * (rounding + slack)


SCALES = st.floats(-6, 6).map(lambda exponent: 10.0**exponent)


@drawn(300)
@given(
    stack=stacks(),
    weights=SCALES,
    inputs=SCALES,
    bound=SCALES,
    by_layer=st.booleans(),
    name=st.sampled_from(instruction_sets()),
    seed=st.integers(0, 999),
)
def test_one_example_never_exceeds_its_bound(
    stack: Stack, weights: float, inputs: float, bound: float, by_layer: bool, name: str, seed: int
) -> None:
    scaled(stack, weights)
    engine = engine_of(stack, name)
    x, y = stack.examples(3, seed)
    x *= inputs
    groups = groups_of(stack, by_layer)
    bounds = tuple(bound / (1 + group) for group in range(groups))
    for i in range(3):
        found = native(stack, x, y, bounds, [i], engine)
        gradient = engine.gradient(stack.start.numpy(), x.numpy(), y.numpy(), np.array([i]))
        for part, free, limit in zip(
            norms(stack, found, groups), norms(stack, gradient, groups), bounds, strict=True
        ):
            assert part <= limit
            if math.isfinite(free) and np.isfinite(gradient).all() and found.any():
                # Nor is it clipped more than that.
                assert part >= min(free, limit) * (1 - SLACK) - 1e-40


@pytest.mark.parametrize("name", instruction_sets())
@drawn(100)
@given(
    value=st.floats(2.0**-10, 2.0**10, width=32),
    bound=st.floats(1e-3, 1e3),
    features=st.sampled_from([1, 40, 4000]),
)
def test_numbers_that_all_round_up_stay_within_the_bound(
    name: str, value: float, bound: float, features: int
) -> None:
    stack = stack_of(nn.Linear(features, 2, bias=False), shape=(features,))
    x = torch.full((1, features), value)
    found = native(
        scaled(stack, 0.0), x, torch.zeros(1, dtype=torch.int64), (bound,), engine=engine_of(stack, name)
    )
    assert np.unique(np.abs(found)).size == 1
    # With exact numbers: floats would round again.
    assert found.size * Fraction(float(abs(found[0]))) ** 2 <= Fraction(bound) ** 2


@pytest.mark.parametrize("by_layer", [False, True])
def test_a_norm_that_is_the_bound_is_within_it_exactly(by_layer: bool) -> None:
    stack = stack_of(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3), shape=(5,))
    groups = groups_of(stack, by_layer)
    x, y = stack.examples(20)
    for i in range(20):
        free = native(stack, x, y, (1e6,) * groups, [i])
        bounds = [max(norm, 1e-3) for norm in norms(stack, free, groups)]
        for towards in (0.0, math.inf, None):
            near = tuple(bound if towards is None else math.nextafter(bound, towards) for bound in bounds)
            found = native(stack, x, y, near, [i])
            for part, bound in zip(split(stack, found, groups), near, strict=True):
                assert sum(Fraction(float(value)) ** 2 for value in part) <= Fraction(bound) ** 2
            assert np.linalg.norm(found - free) <= SLACK * np.linalg.norm(free)


@pytest.mark.parametrize("size", [30, 1000])
def test_a_million_parameters_stay_within_the_bound(size: int) -> None:
    stack = stack_of(nn.Linear(size, size), shape=(size,))
    x, y = stack.examples(4)
    engine = engine_of(stack)
    for i in range(4):
        free = engine.gradient(stack.start.numpy(), x.numpy(), y.numpy(), np.array([i])).astype(np.float64)
        for bound in np.linalg.norm(free) * np.array([1e-6, 0.1, 0.999]):
            norm = float(np.linalg.norm(native(stack, x, y, (bound,), [i], engine).astype(np.float64)))
            assert bound * (1 - SLACK) <= norm <= bound


def broken_examples(stack: Stack, x: Tensor) -> dict[str, Tensor]:
    """Copies of the examples in which one has no usable gradient."""
    values = {"not a number": math.nan, "infinite": math.inf, "minus infinity": -math.inf, "huge": 3e38}
    found = {name: x.clone() for name in values}
    for name, value in values.items():
        found[name][2].fill_(value)
    found["one pixel"] = x.clone()
    found["one pixel"][2].view(-1)[0] = math.nan
    return found


@pytest.mark.parametrize("name", instruction_sets())
@pytest.mark.parametrize("by_layer", [False, True])
@pytest.mark.parametrize(
    "make", [small_cnn, lambda: stack_of(nn.Linear(6, 3), shape=(6,))], ids=["cnn", "linear"]
)
def test_an_example_without_a_usable_gradient_adds_nothing(make: Any, by_layer: bool, name: str) -> None:
    stack = make()
    engine = engine_of(stack, name)
    x, y = stack.examples(6)
    bounds = (1e-3,) * groups_of(stack, by_layer)
    others = [0, 1, 3, 4, 5]
    wanted = native(stack, x, y, bounds, others, engine)
    assert np.isfinite(wanted).all()
    assert wanted.any()
    for kind, broken in broken_examples(stack, x).items():
        assert same_bits(native(stack, broken, y, bounds, engine=engine), wanted), kind
        assert not native(stack, broken, y, bounds, [2, 2], engine).any(), kind
        model = stack.flat()  # the Python engine finds the same ones unusable
        assert not clipped_sum(model, broken[2:3], y[2:3], bounds).any(), kind


def test_the_largest_bounds_do_not_let_infinity_in() -> None:
    stack = stack_of(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 2), shape=(3,))
    x, y = (
        torch.tensor([[math.inf, 1.0, 1.0], [math.nan, 0.0, 0.0], [3e38, 3e38, -3e38]]),
        torch.zeros(3).long(),
    )
    for bound in (1e38, 1e200, 1e300, 1.7e308):
        for bounds in ((bound,), (bound, bound), (1.0, bound), (bound, 1.0)):
            assert np.isfinite(native(stack, x, y, bounds)).all()


@pytest.mark.parametrize("by_layer", [False, True])
def test_gradients_beyond_the_reach_of_scaling_add_nothing(by_layer: bool) -> None:
    stack = stack_of(nn.Linear(2, 2, bias=False), shape=(2,))
    scaled(stack, 0.0)
    y = torch.zeros(1, dtype=torch.int64)
    for bound in (1e-6, 1.0, 50.0):
        most = bound * 2.0**100  # the norm of the gradient is that of x divided by the root of 2
        below, above = (torch.tensor([[factor * most * math.sqrt(2), 0.0]]) for factor in (0.99, 1.01))
        norm = float(np.linalg.norm(native(stack, below, y, (bound,)).astype(np.float64)))
        assert bound * (1 - SLACK) <= norm <= bound
        assert not native(stack, above, y, (bound,)).any()
        model = stack.flat()
        assert clipped_sum(model, below, y, (bound,)).any()
        assert not clipped_sum(model, above, y, (bound,)).any()


@pytest.mark.parametrize("value", [1e20, 1e25, 1e30])
def test_squares_that_overflow_are_measured(value: float) -> None:
    stack = scaled(stack_of(nn.Linear(30, 3), shape=(30,)), 1e-30)
    x, y = stack.examples(5)
    x = x * value
    for bounds in ((7.0,), (1e22,)):
        found = native(stack, x, y, bounds)
        model = stack.flat()
        loop = clipped_sum(model, x, y, bounds).numpy()
        difference = np.linalg.norm(found.astype(np.float64) - loop)
        assert difference <= 2 * SLACK * np.linalg.norm(loop.astype(np.float64))
        assert found.any()


@drawn(60)
@given(stack=stacks(), by_layer=st.booleans(), seed=st.integers(0, 999))
def test_a_batch_is_the_sum_of_its_parts(stack: Stack, by_layer: bool, seed: int) -> None:
    x, y = stack.examples(9, seed)
    engine = engine_of(stack)
    bounds = (0.3,) * groups_of(stack, by_layer)
    order = np.random.default_rng(seed).integers(0, 9, size=9)  # some of them twice
    whole = native(stack, x, y, bounds, order, engine)
    cut = seed % 10
    parts = [
        native(stack, x, y, bounds, order[:cut], engine),
        native(stack, x, y, bounds, order[cut:], engine),
    ]
    limit = 9 * 0.3 * math.sqrt(len(bounds))
    assert np.linalg.norm(whole - (parts[0] + parts[1])) <= 16 * 2.0**-24 * limit
    # Nothing of an example depends on the others: one after the other they add up to the same bits.
    one_by_one = np.zeros_like(whole)
    for i in order:
        one_by_one += native(stack, x, y, bounds, [i], engine)
    assert np.linalg.norm(whole - one_by_one) <= 16 * 2.0**-24 * limit


@drawn(60)
@given(
    stack=stacks(), by_layer=st.booleans(), bound=st.sampled_from([1e-3, 1.0, 1e3]), seed=st.integers(0, 999)
)
def test_one_example_more_moves_the_sum_by_its_bound_at_most(
    stack: Stack, by_layer: bool, bound: float, seed: int
) -> None:
    x, y = stack.examples(8, seed)
    engine = engine_of(stack)
    bounds = tuple(bound / (1 + group) for group in range(groups_of(stack, by_layer)))
    limit = math.hypot(*bounds)
    everyone = native(stack, x * 10, y, bounds, None, engine).astype(np.float64)
    for i in (0, 3, 7):
        others = native(stack, x * 10, y, bounds, [j for j in range(8) if j != i], engine)
        # The sums are float32: each of 8 additions rounds what is there by then.
        assert np.linalg.norm(everyone - others) <= limit * (1 + 8 * 8 * 2.0**-24)


@pytest.mark.parametrize("by_layer", [False, True])
def test_an_empty_batch_gives_zeros(by_layer: bool) -> None:
    stack = small_cnn()
    x, y = stack.examples(3)
    bounds = (1.0,) * groups_of(stack, by_layer)
    for some in (3, 0):
        found = native(stack, x[:some], y[:some], bounds, [])
        assert found.shape == stack.start.shape
        assert not found.any()


@pytest.mark.parametrize("name", instruction_sets())
def test_gradients_that_are_zero_or_nearly_so_are_left_as_they_are(name: str) -> None:
    one_class = stack_of(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 1), shape=(4,))
    x, y = one_class.examples(4)
    for bounds in ((1e-6,), (1.0, 1e-6)):
        assert not native(one_class, x, y, bounds, engine=engine_of(one_class, name)).any()
    linear = stack_of(nn.Linear(4, 3, bias=False), shape=(4,))
    x, y = linear.examples(4)
    for tiny in (1e-30, 1e-38, 1e-40, 1e-44, 0.0):
        found = native(linear, x * tiny, y, (1.0,), engine=engine_of(linear, name))
        gradient = gradients_of_examples(linear.double(), (x * tiny).double(), y).sum(0).numpy()
        assert np.abs(found - gradient).max() <= 1e-6 * np.abs(gradient).max() + 1e-44


@pytest.mark.parametrize("count", [2, 17, 250, 2000])
@pytest.mark.parametrize("bound", [0.37, 1e-3])
def test_one_of_many_equal_examples_moves_the_sum_by_no_more_than_its_bound(count: int, bound: float) -> None:
    # Equal examples round alike, so what each of them loses or gains adds up: the worst case for a sum.
    stack = small_cnn()
    x, y = stack.examples(1, 3)
    index = [0] * count
    moved = native(stack, x, y, (bound,), index) - native(stack, x, y, (bound,), index[1:])
    assert 0.99 * bound < float(np.linalg.norm(moved)) <= bound
