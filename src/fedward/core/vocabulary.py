"""Words as numbers: tokens that a model reads, and classes that it predicts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from fedward.base.validate import InvalidType, InvalidValue, whole

PADDING = 0
"""The token that fills up the shorter sequences of a batch."""

UNKNOWN = 1
"""The token of every word that a vocabulary does not have."""

FIRST = 2
"""The token of a vocabulary's first word."""

_ADDRESS = re.compile(r"(?:https?://|www\.)\S+")
_HANDLE = re.compile(r"@\w+")
# "don't" is "do" and "n't", "it's" is "it" and "'s": so the texts that GloVe was made from are cut.
_WORD = re.compile(r"n't\b|'(?:s|m|d|ll|re|ve)\b|\w+?(?=n't\b)|\w+")


def tokenize(text: str) -> list[str]:
    """The words of a text, by one rule for every data set.

    Lower case; an address of the web is the word ``url``, an @handle the word ``user``; a curly apostrophe
    is a plain one; words are runs of letters, digits and underscores, with English contractions cut in two;
    every other sign separates words and is dropped.

    >>> tokenize("@ann I don't know, it's at http://t.co/x #fun!")
    ['user', 'i', 'do', "n't", 'know', 'it', "'s", 'at', 'url', 'fun']
    """
    text = text.lower().replace("’", "'")
    return _WORD.findall(_HANDLE.sub(" user ", _ADDRESS.sub(" url ", text)))


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The words that a federation's tokens stand for.

        token 0: padding,    token 1: a word that is not here,    token i + 2: words[i]

    Where words are predicted, the class of a token is ``token - 1``: class 0 is an unknown word, class i + 1
    is ``words[i]``, and there are ``len(words) + 1`` classes.

    Args:
      words: every word once.
      vectors: ``[len(words), d]``, the vector of each word; None if there are none.

    >>> vocabulary = Vocabulary(("the", "cat", "sat"))
    >>> vocabulary.encode("The dog sat."), vocabulary.size
    ([2, 1, 4], 5)
    >>> vocabulary.label("cat"), vocabulary.word_of_label(2)
    (2, 'cat')
    """

    words: tuple[str, ...]
    vectors: Tensor | None = None
    _tokens: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.words, tuple):
            raise InvalidType(f"words must be a tuple, got {type(self.words).__name__}")
        for word in self.words:
            if not isinstance(word, str):
                raise InvalidType(f"words must be strings, got {word!r}")
        if not self.words or not all(self.words):
            raise InvalidValue(f"words must be at least one, and none empty, got {len(self.words)}")
        # Frozen, but the table belongs to the words: without it every look-up would search all of them.
        object.__setattr__(self, "_tokens", {word: i for i, word in enumerate(self.words, FIRST)})
        if len(self._tokens) < len(self.words):
            repeated = next(word for i, word in enumerate(self.words, FIRST) if self._tokens[word] != i)
            raise InvalidValue(f"words must not repeat a word, got {repeated!r} twice")
        if self.vectors is not None:
            _check_vectors(self.vectors, len(self.words))

    @property
    def size(self) -> int:
        """How many tokens there are, padding and the unknown word included."""
        return len(self.words) + FIRST

    @property
    def num_labels(self) -> int:
        """How many classes there are where words are predicted, the unknown word included."""
        return len(self.words) + 1

    def token(self, word: str) -> int:
        """The token of a word, or ``UNKNOWN``."""
        return self._tokens.get(word, UNKNOWN)

    def encode(self, text: str) -> list[int]:
        """The tokens of a text; none if it has no words at all."""
        return self.encode_words(tokenize(text))

    def encode_words(self, words: Iterable[str]) -> list[int]:
        """The tokens of words that ``tokenize`` gave."""
        known = self._tokens
        return [known.get(word, UNKNOWN) for word in words]

    def word(self, token: int) -> str:
        """The word of a token; ``<padding>`` and ``<unknown>`` for the two that are not words."""
        if whole("token", token, at_least=0) >= self.size:
            raise InvalidValue(f"token must be below {self.size}, got {token}")
        return ("<padding>", "<unknown>")[token] if token < FIRST else self.words[token - FIRST]

    def label(self, word: str) -> int:
        """The class of a word where words are predicted; a word that is not here is refused."""
        token = self.token(word)
        if token == UNKNOWN:
            raise InvalidValue(f"word must be one of the {len(self.words)} of the vocabulary, got {word!r}")
        return token - 1

    def word_of_label(self, label: int) -> str:
        """The word of a class where words are predicted."""
        if whole("label", label, at_least=0) >= self.num_labels:
            raise InvalidValue(f"label must be below {self.num_labels}, got {label}")
        return self.word(label + 1)


def _check_vectors(vectors: Tensor, num_words: int) -> None:
    if not isinstance(vectors, Tensor) or vectors.dtype != torch.float32:
        kind = vectors.dtype if isinstance(vectors, Tensor) else type(vectors).__name__
        raise InvalidType(f"vectors must be a tensor of float32, got {kind}")
    if vectors.ndim != 2 or len(vectors) != num_words or vectors.shape[1] < 1:
        raise InvalidValue(
            f"vectors must be one row for each of {num_words} words, got shape {tuple(vectors.shape)}"
        )
    if not bool(torch.isfinite(vectors).all()):
        raise InvalidValue("vectors must be finite, got NaN or infinity")
