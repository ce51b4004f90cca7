"""Texts as tokens, and a vocabulary chosen from texts."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue, whole
from fedward.core.examples import Ragged
from fedward.core.vocabulary import UNKNOWN, Vocabulary, tokenize


def most_frequent_words(texts: Iterable[str], size: int) -> Vocabulary:
    """The most frequent words of some texts, at most ``size``; the alphabet decides between equals.

    Which words these are tells something of whoever wrote the texts: **no ε covers it**.

    >>> most_frequent_words(["the cat", "The dog!"], 2).words
    ('the', 'cat')
    """
    whole("words", size)
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(tokenize(text))
    if not counts:
        raise InvalidValue("the training texts must hold at least one word, got none")
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return Vocabulary(tuple(word for word, _ in ranked[:size]))


def encode_all(
    texts: Iterable[str], vocabulary: Vocabulary, longest: int | None = None
) -> tuple[Ragged, int]:
    """Texts as tokens, and how many of them hold no known word: each of these is one unknown token.

    >>> ragged, strange = encode_all(["the cat", "?", "dog house"], Vocabulary(("the", "cat")))
    >>> ragged.values.tolist(), ragged.offsets.tolist(), strange
    ([2, 3, 1, 1], [0, 2, 3, 4], 2)
    """
    values, lengths, strange = array("i"), array("i"), 0
    for text in texts:
        tokens = vocabulary.encode(text)[:longest]
        if not any(token != UNKNOWN for token in tokens):
            tokens, strange = [UNKNOWN], strange + 1
        values.extend(tokens)
        lengths.append(len(tokens))
    offsets = np.concatenate([[0], np.cumsum(_numbers(lengths))])
    return Ragged(torch.from_numpy(_numbers(values)), torch.from_numpy(offsets)), strange


def _numbers(values: array[int]) -> NDArray[np.int64]:
    return np.frombuffer(values, dtype=np.int32).astype(np.int64) if values else np.empty(0, np.int64)
