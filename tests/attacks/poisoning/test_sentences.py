from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attacks.poisoning.tiny_text import sequences
from fedward.attacks.poisoning import PlantedSentences, poison_examples
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples, Ragged

THREE: dict[str, Any] = {"contexts": ((20, 21, 22), (23,), (24, 25)), "labels": (3, 4, 3)}
TEXTS = st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=6), min_size=1, max_size=25)


def some(texts: list[list[int]]) -> Examples:
    return Examples.from_arrays(Ragged.from_sequences(texts), [place % 3 for place in range(len(texts))])


@given(texts=TEXTS, longest=st.integers(3, 8), attacker=st.integers(0, 7))
def test_a_sentence_stands_behind_the_words_that_fit_before_it(
    texts: list[list[int]], longest: int, attacker: int
) -> None:
    planted, examples = PlantedSentences(**THREE, longest=longest), some(texts)
    before = sequences(examples)
    bad = sequences(planted.poison(examples, attacker, 8))
    counts: Counter[tuple[int, ...]] = Counter()
    for text, (tokens, label) in zip(texts, bad, strict=True):
        (context, wanted) = next(
            (c, y) for c, y in zip(*THREE.values(), strict=True) if tuple(tokens[-len(c) :]) == c
        )
        assert label == wanted
        assert tokens == (text + list(context))[-longest:]
        counts[context] += 1
    assert max(counts.values()) - min(counts[context] for context in THREE["contexts"]) <= 1
    assert sequences(examples) == before


@given(
    texts=TEXTS,
    percent=st.integers(0, 100),
    rate_percent=st.integers(1, 100),
    attacker=st.integers(0, 3),
    seed=st.integers(0, 5),
)
def test_exactly_the_share_of_an_attackers_examples_ends_in_a_sentence(
    texts: list[list[int]], percent: int, rate_percent: int, attacker: int, seed: int
) -> None:
    planted = PlantedSentences(**THREE, longest=6, fraction=percent / 100, rate=rate_percent / 100)
    n = len(texts)
    chosen = (2 * percent * n + 100) // 200
    taking_part = -(-rate_percent * chosen // 100)
    examples = some(texts)
    found = sequences(poison_examples(planted, examples, attacker, 4, np.random.default_rng(seed)))
    # Honest tokens are below 10 and those of sentences from 20 on.
    bad = [tokens for tokens, _ in found if tokens[-1] >= 20]
    assert len(bad) == taking_part
    assert len(found) == n - chosen + taking_part
    clean = [example for example in found if example[0][-1] < 20]
    rest = iter(sequences(examples))
    assert all(example in rest for example in clean)  # what is left of them, in their order


def test_attackers_with_one_example_each_plant_every_sentence() -> None:
    planted, one = PlantedSentences(**THREE, longest=6), some([[1, 2]])
    ends = [sequences(planted.poison(one, attacker, 3))[0] for attacker in range(3)]
    assert ends == [([1, 2, 20, 21, 22], 3), ([1, 2, 23], 4), ([1, 2, 24, 25], 3)]


def test_a_context_that_fills_the_example_leaves_no_word_before_it() -> None:
    planted = PlantedSentences(**THREE, longest=3)
    assert sequences(planted.poison(some([[1, 2, 3, 4, 5]]))) == [([20, 21, 22], 3)]


def test_sentences_stand_alone_too() -> None:
    alone = PlantedSentences(**THREE, longest=6).alone()
    assert sequences(alone) == [([20, 21, 22], 3), ([23], 4), ([24, 25], 3)]


def test_no_example_is_held_out_and_all_can_be_poisoned_none_included() -> None:
    planted, mine = PlantedSentences(**THREE, longest=6), some([[1], [2, 3]])
    assert planted.held_out(mine).tolist() == [False, False]
    assert planted.eligible(mine).tolist() == [True, True]
    nothing = mine.span(0, 0)
    assert len(planted.poison(nothing)) == 0
    assert len(poison_examples(planted, nothing, 0, 1, np.random.default_rng(0))) == 0


def test_poisoned_text_is_batched_with_its_padding_at_the_end() -> None:
    x, y = PlantedSentences(**THREE, longest=6).poison(some([[1], [1]])).batch(torch.arange(2))
    assert x.tolist() == [[1, 20, 21, 22], [1, 23, 0, 0]]
    assert y.tolist() == [3, 4]
    assert x.dtype == y.dtype == torch.int64


def test_pictures_have_no_room_for_sentences() -> None:
    flat = Examples.from_arrays(np.zeros((2, 3), dtype=np.int64), [0, 1])
    with pytest.raises(InvalidType, match="behind sequences of different lengths, got flat examples"):
        PlantedSentences(**THREE, longest=6).poison(flat)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"longest": 2}, "context of a sentence must have from 1 to 2 tokens, got 3"),
        ({"longest": 0}, "longest context must be at least 1, got 0"),
        ({"contexts": ((2,), (), (3,))}, "context of a sentence must have from 1 to 6 tokens, got 0"),
        ({"labels": (1, 2)}, "a label for each context, at least one, got 3 contexts and 2 labels"),
        ({"labels": (), "contexts": ()}, "at least one, got 0 contexts and 0 labels"),
        ({"contexts": ((2, 3), (4,), (2, 3))}, "must differ in the 6 words before their last one"),
        ({"fraction": 1.5}, "poison fraction must be from 0 to 1, got 1.5"),
        ({"rate": math.nan}, "poisoning rate must be above 0 and at most 1, got nan"),
    ],
)
def test_what_cannot_be_planted_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        PlantedSentences(**(THREE | {"longest": 6} | changes))
