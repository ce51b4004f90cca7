from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.digest import data_digest
from fedward.core.examples import Ragged
from fedward.core.federation import Federation
from fedward.core.vocabulary import FIRST, PADDING, UNKNOWN, Vocabulary, tokenize

WORDS = ("the", "cat", "sat", "user")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("@ann @bob_2: see https://a.b/c?d=1 or www.x.org.", ["user", "user", "see", "url", "or", "url"]),
        ("don't can't won't", ["do", "n't", "ca", "n't", "wo", "n't"]),
        ("it's I'm we'll", ["it", "'s", "i", "'m", "we", "'ll"]),
        ("they've you're he'd", ["they", "'ve", "you", "'re", "he", "'d"]),
        ("rock 'n' roll", ["rock", "n", "roll"]),
        ("man’s", ["man", "'s"]),
        ("'so' isn't", ["so", "is", "n't"]),
        ("3.5 times #fun", ["3", "5", "times", "fun"]),
        ("Ärger naïve 東京", ["ärger", "naïve", "東京"]),
        ("... !!! :)", []),
        ("", []),
    ],
)
def test_a_text_is_cut_by_the_documented_rule(text: str, words: list[str]) -> None:
    assert tokenize(text) == words


@given(st.text(max_size=60))
def test_words_are_never_empty_have_no_spaces_and_are_cut_no_further(text: str) -> None:
    for word in tokenize(text):
        assert word
        assert not any(sign.isspace() for sign in word)
        if "'" not in word:
            assert tokenize(word) == [word.lower()]


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=20, unique=True))
def test_tokens_and_labels_lead_back_to_their_words(words: list[str]) -> None:
    vocabulary = Vocabulary(tuple(words))
    for i, word in enumerate(words):
        assert vocabulary.token(word) == i + FIRST
        assert vocabulary.word(vocabulary.token(word)) == word
        assert vocabulary.word_of_label(vocabulary.label(word)) == word
        assert vocabulary.label(word) == i + 1
    assert vocabulary.size == len(words) + 2
    assert vocabulary.num_labels == len(words) + 1
    assert vocabulary.word_of_label(vocabulary.num_labels - 1) == words[-1]


def test_unknown_words_keep_their_place() -> None:
    assert Vocabulary(WORDS).encode("The dog sat on @ann's cat") == [2, 1, 4, 1, 5, 1, 3]
    assert Vocabulary(WORDS).encode("?!") == []


def test_the_two_tokens_that_are_not_words_have_names_that_no_word_can_have() -> None:
    vocabulary = Vocabulary(WORDS)
    assert (vocabulary.word(PADDING), vocabulary.word(UNKNOWN)) == ("<padding>", "<unknown>")
    assert vocabulary.word_of_label(0) == "<unknown>"
    assert tokenize("<padding> <unknown>") == ["padding", "unknown"]


def test_a_word_that_is_not_there_has_no_label() -> None:
    with pytest.raises(InvalidValue, match="one of the 4 of the vocabulary, got 'london'"):
        Vocabulary(WORDS).label("london")


@pytest.mark.parametrize("number", [-1, 6, 100])
def test_there_is_no_word_beyond_the_last(number: int) -> None:
    with pytest.raises(InvalidValue, match="token must be"):
        Vocabulary(WORDS).word(number)
    with pytest.raises(InvalidValue, match="label must be"):
        Vocabulary(WORDS).word_of_label(number)


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        ((), None, "at least one"),
        (("a", ""), None, "none empty"),
        (("a", "b", "a"), None, "must not repeat a word, got 'a' twice"),
        (("a", "b"), torch.zeros(3, 2), r"each of 2 words, got shape \(3, 2\)"),
        (("a", "b"), torch.zeros(2), "each of 2 words"),
        (("a", "b"), torch.zeros(2, 0), "each of 2 words"),
        (("a", "b"), torch.tensor([[1.0], [float("nan")]]), "must be finite"),
    ],
)
def test_wrong_vocabularies_are_refused(words: Any, vectors: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Vocabulary(words, vectors)


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a"], None, "words must be a tuple, got list"),
        (("a", 1), None, "words must be strings, got 1"),
        (("a",), torch.zeros(1, 2, dtype=torch.float64), "float32, got torch.float64"),
        (("a",), np.zeros((1, 2), np.float32), "float32, got ndarray"),
    ],
)
def test_vocabularies_of_a_wrong_type_are_refused(words: Any, vectors: Any, message: str) -> None:
    with pytest.raises(InvalidType, match=message):
        Vocabulary(words, vectors)


def test_a_vocabulary_travels_and_is_changed_by_copies_only() -> None:
    vocabulary = Vocabulary(WORDS, torch.arange(8.0).view(4, 2))
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again.words == WORDS
    assert again.encode("the cat") == [2, 3]
    fewer = dataclasses.replace(vocabulary, words=WORDS[:2], vectors=None)
    assert fewer.encode("the cat sat") == [2, 3, 1]
    assert "_tokens" not in repr(vocabulary)


def text_federation(vocabulary: Vocabulary | None, sequences: Any = ((2, 5), (1,), (4, 3, 2))) -> Federation:
    x = Ragged.from_sequences(sequences)
    return Federation.from_arrays(
        x, [0, 1, 0], ["b", "a", "b"], test=(x.span(0, 1), [0]), vocabulary=vocabulary
    )


def test_a_federation_carries_its_vocabulary() -> None:
    vocabulary = Vocabulary(WORDS)
    assert text_federation(vocabulary).vocabulary is vocabulary
    assert text_federation(None).vocabulary is None


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        (((2, 6), (1,), (4,)), "training tokens must be from 1 to 5 for a vocabulary of 4 words, got 6"),
        (((2, 0), (1,), (4,)), "training tokens must be from 1 to 5 .* got 0"),
        (((2, 3), (-1,), (4,)), "got -1"),
    ],
)
def test_tokens_must_be_those_of_the_vocabulary(sequences: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        text_federation(Vocabulary(WORDS), sequences)
    assert text_federation(None, sequences).num_users == 2


def test_test_tokens_are_checked_as_well() -> None:
    x = Ragged.from_sequences([[2], [3]])
    with pytest.raises(InvalidValue, match="test tokens must be from 1 to 5"):
        Federation.from_arrays(
            x, [0, 1], [0, 1], test=(Ragged.from_sequences([[9]]), [0]), vocabulary=Vocabulary(WORDS)
        )


def test_flat_tokens_may_be_padded_but_must_be_whole() -> None:
    padded = Federation.from_arrays(np.array([[2, 0], [3, 4]]), [0, 1], [0, 1], vocabulary=Vocabulary(WORDS))
    assert padded.vocabulary is not None
    with pytest.raises(InvalidType, match="training examples must be tokens where there is a vocabulary"):
        Federation.from_arrays(np.zeros((2, 2)), [0, 1], [0, 1], vocabulary=Vocabulary(WORDS))


def test_the_digest_covers_the_vocabulary_and_is_the_old_one_without() -> None:
    vectors = torch.arange(8.0).view(4, 2)
    digests = {
        data_digest(text_federation(vocabulary))
        for vocabulary in (
            None,
            Vocabulary(WORDS),
            Vocabulary((*WORDS[:3], "dog")),
            Vocabulary(("the", "cat", "sat", "user", "more")),
            Vocabulary(WORDS, vectors),
            Vocabulary(WORDS, vectors + 1),
        )
    }
    assert len(digests) == 6
    assert data_digest(text_federation(Vocabulary(WORDS))) == data_digest(text_federation(Vocabulary(WORDS)))
    assert data_digest(text_federation(None)) == "ebb120cddff7f633034eccf9f4983405"
