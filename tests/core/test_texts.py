from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.core.texts import encode_all, most_frequent_words
from fedward.core.vocabulary import UNKNOWN, Vocabulary


def test_a_vocabulary_of_texts_needs_a_size_and_a_word() -> None:
    assert most_frequent_words(["b a b", "c! B, a"], 2).words == ("b", "a")
    with pytest.raises(InvalidValue, match="words must be at least 1, got 0"):
        most_frequent_words(["b"], 0)
    with pytest.raises(InvalidValue, match="must hold at least one word, got none"):
        most_frequent_words(["?!"], 3)


@given(st.lists(st.text(st.sampled_from("ab z?"), max_size=8), max_size=12), st.none() | st.integers(1, 4))
def test_texts_become_their_tokens_and_none_is_empty(texts: list[str], longest: int | None) -> None:
    vocabulary = Vocabulary(("a", "b", "ab"))
    ragged, strange = encode_all(texts, vocabulary, longest)
    assert len(ragged) == len(texts)
    alone = 0
    for i, text in enumerate(texts):
        tokens = ragged.values[int(ragged.offsets[i]) : int(ragged.offsets[i + 1])].tolist()
        plain = vocabulary.encode(text)[:longest]
        if set(plain) <= {UNKNOWN}:
            assert tokens == [UNKNOWN]
            alone += 1
        else:
            assert tokens == plain
    assert strange == alone
