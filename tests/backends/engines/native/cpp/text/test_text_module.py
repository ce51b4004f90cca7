"""Whatever is wrong about a model of text at the boundary of the compiled engine is an error with words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from backends.engines.native.oracles import instruction_sets, same_bits
from backends.engines.native.texts import Text, arrays
from fedward.core.examples import Examples, Ragged
from fedward.models.text_lstm import TextLSTM

_engine = pytest.importorskip(
    "fedward.backends.engines.native._engine", reason="the native engine was not compiled"
)

TEXT = Text(TextLSTM(nn.Embedding(5, 3), (4,), 2), 5, 2)
EXAMPLES = Examples(Ragged.from_sequences([[1, 2], [4], [3, 3, 3]]), torch.tensor([0, 1, 1]))
LAYER = {
    "inputs": 3,
    "units": 4,
    "input_at": 15,
    "recurrent_at": 63,
    "input_bias_at": 127,
    "recurrent_bias_at": 143,
}
MODEL = {
    "tokens": 5,
    "numbers": 3,
    "table": 0,
    "padding": -1,
    "classes": 2,
    "output_at": (159, 167),
    "parameters": 169,
}


def tokens(values: list[int], offsets: list[int]) -> Any:
    return _engine.Tokens(np.array(values, dtype=np.int64), np.array(offsets, dtype=np.int64))


def engine(layer: dict[str, int] | None = None, **changes: Any) -> Any:
    layers = [_engine.Lstm(**(LAYER | (layer or {})))]
    return _engine.TextEngine(**(MODEL | {"layers": layers} | changes))


def test_the_arguments_are_those_that_python_makes() -> None:
    assert TEXT.start.numel() == MODEL["parameters"]
    x, y = arrays(EXAMPLES)
    found = [each.gradient(TEXT.start.numpy(), x, y, np.arange(3)) for each in (engine(), TEXT.engine())]
    assert same_bits(*found)


@pytest.mark.parametrize(
    ("values", "offsets", "reason"),
    [
        ([1, 2], [0, 1], "must rise from 0 to the number of tokens, 2"),
        ([1, 2], [1, 2], "must rise from 0"),
        ([1, 2], [], "must be rows"),
        ([1, 2], [0, 0, 2], "example 0 is an empty sequence"),
        ([1, 2], [0, 3, 2], "example 1 is an empty sequence, or ends before it begins"),
    ],
)
def test_offsets_must_be_those_of_sequences(values: list[int], offsets: list[int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        tokens(values, offsets)


@pytest.mark.parametrize("token", [5, -1, 2**62, -(2**63)])
def test_a_token_must_exist(token: int) -> None:
    own = tokens([1, token], [0, 2])
    assert not engine().covers(own)
    with pytest.raises(ValueError, match="a token does not exist: there are 5"):
        engine().scores(TEXT.start.numpy(), own, 0, 1)
    with pytest.raises(ValueError, match="a token does not exist"):
        engine().gradient(TEXT.start.numpy(), own, np.zeros(1, np.int64), np.zeros(1, np.int64))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"layer": {"inputs": 2}}, "does not take what the one before it gives"),
        ({"layer": {"units": 0}}, "units of a layer must be from 1"),
        ({"layer": {"units": 60_000}}, "too large"),
        ({"layer": {"input_at": 160}}, "lies outside of the vector"),
        ({"layer": {"input_at": -1}}, "lies outside of the vector"),
        ({"layers": []}, "there must be an LSTM layer"),
        ({"tokens": 0}, "tokens must be from 1"),
        ({"tokens": 2**31 - 1}, "too large"),
        ({"classes": 3}, "lies outside of the vector"),
        ({"classes": 1}, "the model has 164 parameters, not 169"),
        ({"table": 2**63 - 1}, "lies outside of the vector"),
        ({"padding": 5}, "the padding is not a token"),
        ({"parameters": 170}, "the model has 169 parameters, not 170"),
        ({"table": np.zeros((5, 2), np.float32)}, r"must have shape \(5, 3, \), got \(5, 2, \)"),
        ({"instructions": "mmx"}, "instruction set must be"),
    ],
    ids=str,
)
def test_a_model_must_fit_together(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        engine(**changes)


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("start", np.zeros(168, np.float32), r"shape \(169,\), got \(168, \)"),
        ("y", np.zeros(2, np.int64), "one label for each example"),
        ("y", np.full(3, 2), "label 2 does not exist"),
        ("order", np.array([3]), "example 3 does not exist: there are 3"),
        ("order", np.array([-1]), "example -1 does not exist"),
        ("sizes", [2], "does not fit the order"),
        ("sizes", [], "leave 1 examples"),
        ("bound", math.nan, "bound must be positive"),
    ],
    ids=str,
)
def test_a_training_needs_examples_that_exist(place: str, value: Any, reason: str) -> None:
    x, y = arrays(EXAMPLES)
    right = {"start": TEXT.start.numpy(), "y": y, "order": np.array([1]), "sizes": [1], "bound": 0.0}
    a = right | {place: value}
    with pytest.raises(ValueError, match=reason):
        engine().train(a["start"], x, a["y"], a["order"], a["sizes"], learning_rate=0.1, bound=a["bound"])


@pytest.mark.parametrize("bounds", [[], [1.0, 1.0], [0.0], [math.inf], [math.nan]])
def test_clip_bounds_are_one_or_one_for_each_layer(bounds: list[float]) -> None:
    x, y = arrays(EXAMPLES)
    with pytest.raises(ValueError, match="clip bound"):
        engine().clipped_sum(TEXT.start.numpy(), x, y, np.arange(3), bounds)
    assert engine().clipped_sum(TEXT.start.numpy(), x, y, np.arange(3), [1.0] * 3).shape == (169,)


@pytest.mark.parametrize(("first", "count"), [(-1, 1), (0, 4), (3, 1), (0, -1), (2**62, 2**62)])
def test_only_examples_that_exist_have_scores(first: int, count: int) -> None:
    with pytest.raises(ValueError, match="there are 3 examples"):
        engine().scores(TEXT.start.numpy(), arrays(EXAMPLES)[0], first, count)


@pytest.mark.parametrize("name", instruction_sets())
def test_models_as_wide_as_real_ones_have_the_gradients_of_double_precision(name: str) -> None:
    """Weights beyond the second cache, more examples than a chunk, and sequences of all lengths."""
    torch.manual_seed(1)
    text = Text(TextLSTM(nn.Embedding(40, 50), (72, 130), 210), 40, 210)
    examples = text.examples(26, longest=14)
    found = text.engine(name).gradient(text.start.numpy(), *arrays(examples), np.arange(26))
    exact = text.gradients(examples).mean(0)
    assert np.abs(found - exact).max() <= 1e-5 * np.abs(exact).max()
