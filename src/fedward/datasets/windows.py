"""Next-word examples cut out of running text: the words before a word, and that word."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fedward.core.examples import Ragged
from fedward.core.vocabulary import UNKNOWN, Vocabulary

_BLOCK = 1 << 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Windows:
    """All next-word examples of some texts, as places: example i is predicted at ``places[i]``.

    It holds every word once, as a token of 4 bytes, whatever the length of the contexts.
    """

    tokens: NDArray[np.int32]
    places: NDArray[np.int64]
    lengths: NDArray[np.int64]
    owners: NDArray[np.int64]

    @classmethod
    def of(
        cls, users: Iterable[list[str]], vocabulary: Vocabulary, context: int, unknown_labels: bool
    ) -> Windows:
        """Reads all texts of user 0, user 1, ...; the first word of a text has nothing before it."""
        tokens, starts, owner = array("i"), array("q"), array("i")
        for number, texts in enumerate(users):
            for text in texts:
                starts.append(len(tokens))
                owner.append(number)
                tokens.extend(vocabulary.encode(text))
        flat = np.array(tokens, dtype=np.int32)
        edges = np.array([*starts, len(flat)], dtype=np.int64)
        sizes = edges[1:] - edges[:-1]
        before = np.arange(len(flat)) - np.repeat(edges[:-1], sizes)
        kept = before > 0
        if not unknown_labels:
            kept &= flat != UNKNOWN
        return cls(
            tokens=flat,
            places=np.flatnonzero(kept),
            lengths=np.minimum(before[kept], context),
            owners=np.repeat(np.array(owner, dtype=np.int64), sizes)[kept],
        )

    def first(self, at_most: int) -> Windows:
        """The first so many examples of each user."""
        number = np.arange(len(self.owners)) - np.searchsorted(self.owners, self.owners)
        kept = number < at_most
        return Windows(
            tokens=self.tokens,
            places=self.places[kept],
            lengths=self.lengths[kept],
            owners=self.owners[kept],
        )

    def cut(self, chosen: NDArray[np.int64]) -> tuple[Ragged, NDArray[np.int64]]:
        """The contexts and the labels (token - 1) of some examples, in the given order."""
        places, lengths = self.places[chosen], self.lengths[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        values = np.empty(offsets[-1], dtype=np.int64)
        for start in range(0, len(places), _BLOCK):  # an index of all values would take as much again
            stop = min(start + _BLOCK, len(places))
            size = lengths[start:stop]
            inside = np.arange(offsets[stop] - offsets[start]) - np.repeat(
                offsets[start:stop] - offsets[start], size
            )
            source = np.repeat(places[start:stop] - size, size) + inside
            values[offsets[start] : offsets[stop]] = self.tokens[source]
        labels = self.tokens[places].astype(np.int64) - 1
        return Ragged(torch.from_numpy(values), torch.from_numpy(offsets)), labels
