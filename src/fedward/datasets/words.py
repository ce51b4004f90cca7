"""The choice of a vocabulary for a text data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from fedward.base.validate import InvalidValue, one_of, whole
from fedward.core.texts import most_frequent_words
from fedward.core.vocabulary import Vocabulary
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
    return most_frequent_words(texts(), words)
