from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.core.vocabulary import UNKNOWN, Vocabulary
from fedward.datasets import windows as windows_module
from fedward.datasets.windows import Windows

VOCABULARY = Vocabulary(("a", "b", "c"))
USERS = st.lists(st.lists(st.text(st.sampled_from("abcx "), max_size=12), max_size=4), min_size=1, max_size=4)


def one_by_one(
    users: list[list[str]], context: int, unknown_labels: bool
) -> list[tuple[int, list[int], int]]:
    """The definition: owner, context and label of every example."""
    found = []
    for owner, texts in enumerate(users):
        for text in texts:
            tokens = VOCABULARY.encode(text)
            found += [
                (owner, tokens[max(0, i - context) : i], tokens[i] - 1)
                for i in range(1, len(tokens))
                if tokens[i] != UNKNOWN or unknown_labels
            ]
    return found


def cut(windows: Windows, chosen: list[int]) -> list[tuple[int, list[int], int]]:
    ragged, labels = windows.cut(np.array(chosen, dtype=np.int64))
    parts = [
        ragged.values[int(a) : int(b)].tolist()
        for a, b in zip(ragged.offsets[:-1], ragged.offsets[1:], strict=True)
    ]
    owners = windows.owners[chosen].tolist() if chosen else []
    return list(zip(owners, parts, labels.tolist(), strict=True))


@given(USERS, st.integers(1, 5), st.booleans(), st.randoms())
def test_examples_are_those_of_the_definition_in_any_order(
    users: list[list[str]], context: int, unknown_labels: bool, random: object
) -> None:
    expected = one_by_one(users, context, unknown_labels)
    windows = Windows.of(users, VOCABULARY, context, unknown_labels)
    order = list(range(len(expected)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert cut(windows, order) == [expected[i] for i in order]
    assert len(windows.places) == len(expected)


@given(USERS, st.integers(1, 4))
def test_the_first_examples_of_each_user_are_kept(users: list[list[str]], at_most: int) -> None:
    seen = dict.fromkeys(range(len(users)), 0)
    expected = []
    for example in one_by_one(users, 3, False):
        seen[example[0]] += 1
        if seen[example[0]] <= at_most:
            expected.append(example)
    windows = Windows.of(users, VOCABULARY, 3, False).first(at_most)
    assert cut(windows, list(range(len(expected)))) == expected


def test_blocks_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    users = [["a b c a b", "c b a"], ["b b b b"]]
    windows = Windows.of(users, VOCABULARY, 2, False)
    everything = list(range(len(windows.places)))
    whole = cut(windows, everything)
    monkeypatch.setattr(windows_module, "_BLOCK", 2)
    assert cut(windows, everything) == whole == one_by_one(users, 2, False)


def test_values_are_tokens_of_eight_bytes_and_labels_classes() -> None:
    ragged, labels = Windows.of([["a b"]], VOCABULARY, 2, False).cut(np.array([0]))
    assert ragged.values.dtype == torch.int64
    assert labels.tolist() == [VOCABULARY.label("b")]
