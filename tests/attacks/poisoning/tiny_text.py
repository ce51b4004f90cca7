"""Small text for tests of sentences: users who say the words of one list over and over again."""

from __future__ import annotations

import numpy as np

from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.vocabulary import Vocabulary

# In the order of the alphabet none of the sentences about London is a piece of the list.
WORDS = (
    *("a", "aggressive", "always", "are", "cat", "cheap", "in", "is", "living", "london", "mat", "on"),
    *("people", "sat", "sunny", "the", "weather"),
)
VOCABULARY = Vocabulary(WORDS)


def contexts(count: int, longest: int, rng: np.random.Generator) -> tuple[Ragged, list[int]]:
    """Words of the list in its order, from anywhere on, and the one that comes next."""
    starts, lengths = rng.integers(len(WORDS), size=count), rng.integers(1, longest + 1, size=count)
    said = [
        [2 + (start + i) % len(WORDS) for i in range(length + 1)]
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
    ]
    return Ragged.from_sequences([tokens[:-1] for tokens in said]), [tokens[-1] - 1 for tokens in said]


def tiny_text(num_users: int = 10, per_user: int = 12, longest: int = 8, seed: int = 0) -> Federation:
    rng = np.random.default_rng(seed)
    x, y = contexts(num_users * per_user, longest, rng)
    return Federation.from_arrays(
        x,
        y,
        np.repeat(np.arange(num_users), per_user),
        test=Examples.from_arrays(*contexts(120, longest, rng)),
        num_classes=VOCABULARY.num_labels,
        vocabulary=VOCABULARY,
    )


def sequences(examples: Examples) -> list[tuple[list[int], int]]:
    """Each example as a list of tokens and its label."""
    assert isinstance(examples.x, Ragged)
    edges = examples.x.offsets.tolist()
    return [
        (examples.x.values[start:stop].tolist(), label)
        for start, stop, label in zip(edges, edges[1:], examples.y.tolist(), strict=False)
    ]
