from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from fedward.backends.engines.flat_model import flat_model
from fedward.local.per_example import examine
from local.per_example.reference import assert_equals_one_by_one, scored


def tokens(size: int, length: int, vocabulary: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(vocabulary, (size, length), generator=generator)
    return x, torch.randint(3, (size,), generator=generator)


@settings(max_examples=30)
@given(
    size=st.integers(0, 6),
    length=st.integers(1, 9),
    vocabulary=st.integers(1, 6),
    width=st.integers(1, 5),
    padding=st.sampled_from([None, 0, -1]),
    seed=st.integers(0, 100),
)
def test_repeated_tokens_add_up_and_padding_counts_for_nothing(
    size: int, length: int, vocabulary: int, width: int, padding: int | None, seed: int
) -> None:
    x, y = tokens(size, length, vocabulary, seed)
    assert_equals_one_by_one(scored(nn.Embedding(vocabulary, width, padding_idx=padding), x), x, y)


def test_one_token_an_example_needs_no_sequence() -> None:
    x, y = tokens(5, 1, 4)
    assert_equals_one_by_one(scored(nn.Embedding(4, 3), x[:, 0]), x[:, 0], y)


@pytest.mark.parametrize("options", [{"max_norm": 0.1}, {"scale_grad_by_freq": True}])
def test_what_depends_on_more_than_the_tokens_goes_one_by_one(options: dict[str, Any]) -> None:
    x, _ = tokens(4, 6, 3)
    assert not examine(flat_model(scored(nn.Embedding(3, 2, **options), x)), x)


def test_sparse_gradients_are_gradients() -> None:
    x, y = tokens(4, 6, 3)
    assert_equals_one_by_one(scored(nn.Embedding(3, 2, sparse=True), x), x, y)
