from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.functional import linear

from fedward.backends.engines.flat_model import flat_model
from fedward.local.per_example.one_by_one import clipped_one_by_one
from local.per_example.odd_modules import Recurrent, Tied, TimeFirst
from local.per_example.reference import assert_equals_one_by_one, batch, reference, scored, seeded


class Language(nn.Module):
    """Words through a table, a recurrent layer and a linear one."""

    def __init__(self, kind: Any, vocabulary: int, width: int, hidden: int, **options: Any) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.rest = Recurrent(kind, width, hidden, **options)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.rest(self.table(x))
        return scores


# Batches of none and of one are drawn often.
SIZES = st.sampled_from([0, 1, 1, 2, 3, 5])
CELLS = st.sampled_from([nn.LSTM, nn.LSTM, nn.GRU, nn.RNN])
OPTIONS = st.fixed_dictionaries(
    {
        "num_layers": st.integers(1, 3),
        "bias": st.booleans(),
        "batch_first": st.booleans(),
        "bidirectional": st.booleans(),
    }
)
RECURRENT: dict[str, Any] = {
    "kind": CELLS,
    "options": OPTIONS,
    "size": SIZES,
    "length": st.integers(1, 7),
    "hidden": st.integers(1, 6),
    "seed": st.integers(0, 100),
}


@settings(max_examples=40)
@given(**RECURRENT, into=st.integers(1, 5))
def test_recurrent_layers_of_any_shape(
    kind: Any, options: dict[str, Any], size: int, length: int, into: int, hidden: int, seed: int
) -> None:
    x, y = batch(size, length, into, seed=seed)
    module = seeded(Recurrent, kind, into, hidden, seed=seed, **options)
    assert_equals_one_by_one(module, x, y, by_rules=False)


@settings(max_examples=40)
@given(**RECURRENT, vocabulary=st.integers(1, 6), width=st.integers(1, 5))
def test_words_through_a_table_a_recurrent_layer_and_a_linear_one(
    kind: Any,
    options: dict[str, Any],
    size: int,
    length: int,
    vocabulary: int,
    width: int,
    hidden: int,
    seed: int,
) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(vocabulary, (size, length), generator=generator)
    y = torch.randint(3, (size,), generator=generator)
    module = seeded(Language, kind, vocabulary, width, hidden, seed=seed, **options)
    assert_equals_one_by_one(module, x, y, by_rules=False)


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.second(torch.tanh(self.first(x)))
        return scores


class SharedIdle(Shared):
    """The weight has the name of a layer that is not called."""

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.second(x)
        return scores


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.layer(torch.tanh(self.layer(x)))
        return scores


class Bare(nn.Module):
    """A parameter that belongs to no known layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.slope = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = torch.tanh(self.layer(x)) * self.slope
        return scores


class ByHand(nn.Module):
    """A layer whose call is thrown away and whose weight is used by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        self.layer(x * 2)
        return linear(x, self.layer.weight, self.layer.bias)


class Flattened(nn.Module):
    """Linear on [batch x time, ...]."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.head(torch.tanh(self.layer(x.flatten(0, 1))).view(*x.shape[:2], 5).sum(1))
        return scores


class ChangedInput(nn.Module):
    """The input of a layer is overwritten after the layer has read it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.scale = 2.0

    def forward(self, x: Tensor) -> Tensor:
        h = x * self.scale
        scores: Tensor = self.layer(h)
        if len(x) > 1:
            h.zero_()
        return scores


def hooked() -> nn.Module:
    layer = nn.Linear(3, 3)
    layer.register_forward_hook(lambda *call: call[2] * 2)
    return layer


def weight_normed() -> nn.Module:
    layer: nn.Module = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
    return layer


@pytest.mark.parametrize(
    "make",
    [Shared, SharedIdle, Twice, Bare, ByHand, ChangedInput, hooked, weight_normed],
    ids=lambda make: make.__name__,
)
@pytest.mark.parametrize("size", [1, 3, 6])
def test_what_the_rules_would_get_wrong_goes_one_by_one(make: Any, size: int) -> None:
    x, y = batch(size, 3)
    assert_equals_one_by_one(seeded(make()), x, y, by_rules=False)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_tied_tables_go_one_by_one(size: int) -> None:
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randint(3, shape, generator=generator) for shape in ((size, 4), (size,)))
    assert_equals_one_by_one(seeded(Tied), x, y, by_rules=False)


@pytest.mark.parametrize("make", [TimeFirst, Flattened])
@pytest.mark.parametrize(("size", "steps"), [(1, 1), (1, 4), (2, 2), (3, 3), (4, 4), (4, 2), (5, 1)])
def test_layers_without_the_batch_first_go_one_by_one(make: Any, size: int, steps: int) -> None:
    x, y = batch(size, steps, 4)
    by_rules = make is Flattened and steps == 1
    assert_equals_one_by_one(seeded(make), x, y, by_rules=by_rules)


def test_attention_and_transposed_convolutions_go_one_by_one() -> None:
    x, y = batch(3, 5, 4)
    encoder = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True)
    assert_equals_one_by_one(scored(encoder, x), x, y, by_rules=False)
    assert_equals_one_by_one(scored(nn.ConvTranspose1d(5, 2, 3), x), x, y, by_rules=False)


def test_it_never_exceeds_its_bounds_and_leaves_out_what_is_not_finite() -> None:
    module = seeded(Bare)
    x, y = batch(4, 3)
    model = flat_model(copy.deepcopy(module))
    assert float(clipped_one_by_one(model, x[:1] * 1e6, y[:1], (0.1,)).double().norm()) <= 0.1
    x[2] = torch.nan
    found = clipped_one_by_one(model, x, y, (0.1,))
    kept = torch.tensor([0, 1, 3])
    assert float((found - reference(module, x[kept], y[kept], (0.1,))).norm()) <= 1e-6
