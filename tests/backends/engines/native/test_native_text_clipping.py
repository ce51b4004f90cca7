"""What the native engine adds up for DP-SGD on text: no example may weigh more than its bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn

from backends.engines.native.oracles import instruction_sets, same_bits
from backends.engines.native.stacks import drawn
from backends.engines.native.texts import Array, Text, arrays, models_of_text, random_text
from fedward.core.examples import Examples, Ragged
from fedward.models.text_lstm import TextLSTM

pytest.importorskip("fedward.backends.engines.native._engine", reason="the native engine was not compiled")

SETS = st.sampled_from(instruction_sets())
SCALES = st.floats(-5, 5).map(lambda exponent: 10.0**exponent)


def clipped(
    text: Text, examples: Examples, bounds: tuple[float, ...], index: Any = None, name: str = "auto"
) -> Array:
    places = np.arange(len(examples)) if index is None else np.asarray(index, dtype=np.int64)
    found: Array = text.engine(name).clipped_sum(text.start.numpy(), *arrays(examples), places, list(bounds))
    assert found.dtype == np.float64
    return found


def parts(text: Text, vector: Array, groups: int) -> list[Array]:
    sizes = text.spec.layer_sizes()
    return [vector] if groups == 1 else np.split(vector, np.cumsum(sizes)[:-1])


def norms(text: Text, vector: Array, groups: int) -> Array:
    return np.array([np.linalg.norm(part) for part in parts(text, vector, groups)])


def groups_of(text: Text, by_layer: bool) -> int:
    return len(text.spec.layer_sizes()) if by_layer else 1


@drawn(40)
@given(
    text=models_of_text(),
    by_layer=st.booleans(),
    which=st.integers(0, 2),
    count=st.integers(1, 30),
    seed=st.integers(0, 999),
    name=SETS,
)
def test_the_sum_is_that_of_gradients_in_double_precision(
    text: Text, by_layer: bool, which: int, count: int, seed: int, name: str
) -> None:
    assume(text.classes > 1)
    examples = text.examples(count, seed)
    single, groups = text.gradients(examples), groups_of(text, by_layer)
    measured = np.array([norms(text, row, groups) for row in single])
    # So that all, some or none of the examples are clipped.
    bounds = (measured.min(0) / 2, np.median(measured, 0), measured.max(0) * 2)[which] + 1e-9
    exact = np.zeros_like(single[0])
    for row, own in zip(single, measured, strict=True):
        scales = np.minimum(1, bounds / np.maximum(own, 1e-300))
        exact += np.concatenate(
            [part * scale for part, scale in zip(parts(text, row, groups), scales, strict=True)]
        )
    found = clipped(text, examples, tuple(map(float, bounds)), name=name)
    assert np.abs(found - exact).max() <= 1e-5 * count * max(0.1, float(np.abs(single).max()))


@drawn(100)
@given(
    text=models_of_text(),
    weights=SCALES,
    bound=SCALES,
    by_layer=st.booleans(),
    name=SETS,
    seed=st.integers(0, 999),
)
def test_one_example_never_exceeds_its_bound(
    text: Text, weights: float, bound: float, by_layer: bool, name: str, seed: int
) -> None:
    with torch.no_grad():
        for parameter in text.module.parameters():
            parameter.mul_(weights)
    groups = groups_of(text, by_layer)
    examples = text.examples(3, seed)
    for example in range(3):
        found = norms(text, clipped(text, examples, (bound,) * groups, [example], name), groups)
        assert bool((found <= bound).all())


@drawn(40)
@given(text=models_of_text(), by_layer=st.booleans(), name=SETS, seed=st.integers(0, 999))
def test_the_bound_is_reached(text: Text, by_layer: bool, name: str, seed: int) -> None:
    assume(text.classes > 1)
    groups, examples = groups_of(text, by_layer), text.examples(4, seed)
    for example, row in enumerate(text.gradients(examples)):
        bounds = norms(text, row, groups) / 3
        assume(bool((bounds > 1e-4).all()))
        found = norms(text, clipped(text, examples, tuple(map(float, bounds)), [example], name), groups)
        assert bool((found >= bounds * (1 - 2.0**-16)).all())


@drawn(30)
@given(text=models_of_text(), bound=SCALES, count=st.integers(2, 30), seed=st.integers(0, 999))
def test_one_example_more_moves_the_sum_by_at_most_its_bound(
    text: Text, bound: float, count: int, seed: int
) -> None:
    examples = text.examples(count, seed)
    without = [place for place in range(count) if place != seed % count]
    moved = clipped(text, examples, (bound,)) - clipped(text, examples, (bound,), without)
    assert np.linalg.norm(moved) <= bound * (1 + 1e-9)
    assert np.linalg.norm(moved - clipped(text, examples, (bound,), [seed % count])) <= 1e-9 * bound


def test_what_cancels_is_measured_as_more_than_it_is_and_never_as_less() -> None:
    """A token twice, whose two gradients have opposite signs: their sum is far shorter than they are."""
    module = TextLSTM(nn.Embedding(3, 4), (2,), 2)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
        module.get_parameter("layers.0.weight_hh_l0").mul_(20)
    text = Text(module, 3, 2)
    for length in range(2, 30):
        examples = Examples(Ragged.from_sequences([[1] * length]), torch.tensor([0]))
        for bound in (1e-6, 1e-3, 1.0):
            assert np.linalg.norm(clipped(text, examples, (bound,))) <= bound


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_an_example_without_a_usable_gradient_contributes_nothing(value: float) -> None:
    module = TextLSTM(nn.Embedding(4, 3), (5,), 3)
    text = Text(module, 4, 3)
    examples = Examples(Ragged.from_sequences([[1, 2], [3, 1], [2]]), torch.tensor([0, 1, 2]))
    with torch.no_grad():
        module.embedding.weight[3] = value
    found = clipped(text, examples, (0.5,))
    assert bool(np.isfinite(found).all())
    assert same_bits32(found, clipped(text, examples, (0.5,), [0, 2]))


def same_bits32(one: Array, other: Array) -> bool:
    return same_bits(one.astype(np.float32), other.astype(np.float32))


def test_nobody_in_the_batch_gives_zero() -> None:
    text = random_text(0)
    assert not clipped(text, text.examples(3), (1.0,), []).any()
