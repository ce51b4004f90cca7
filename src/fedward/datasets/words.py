"""The choice of a vocabulary for a text data set, and the conversion of texts to tokens."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue, one_of, whole
from fedward.core.examples import Ragged
from fedward.core.vocabulary import UNKNOWN, Vocabulary, tokenize
from fedward.datasets import glove

VOCABULARIES = ("glove", "training")


def check_vocabulary(vocabulary: str, words: int, vectors: str | None) -> None:
    """Refuses what cannot be a choice of words, before any file is read."""
    one_of("vocabulary", vocabulary, VOCABULARIES)
    whole("words", words)
    if vocabulary == "training" and vectors is not None:
        raise InvalidValue(f"vectors must be left out with vocabulary training, got {vectors!r}")


def choose_words(
    vocabulary: str, words: int, vectors: str | None, folder: Path, texts: Callable[[], Iterable[str]]
) -> Vocabulary:
    """The vocabulary that the options of a loader ask for.

    ``glove``: public, and with vectors. ``training``: the most frequent words of the training texts, the
    alphabet deciding between equals. Which words these are tells something of the users; **no ε covers it**.

    Args:
      vocabulary: ``glove`` or ``training``.
      words: how many words at most.
      vectors: the file of GloVe vectors, if not the usual one.
      folder: the data directory.
      texts: gives the training texts.
    """
    check_vocabulary(vocabulary, words, vectors)
    if vocabulary == "glove":
        return glove.read(glove.find(folder / "glove", vectors), words)
    counts: Counter[str] = Counter()
    for text in texts():
        counts.update(tokenize(text))
    if not counts:
        raise InvalidValue("the training texts must hold at least one word, got none")
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return Vocabulary(tuple(word for word, _ in ranked[:words]))


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
