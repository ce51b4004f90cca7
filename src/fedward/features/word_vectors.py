"""The mean of public word vectors: frozen features of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedward.base.validate import InvalidValue
from fedward.core.examples import Ragged
from fedward.core.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class WordVectors:
    """The mean of the public vectors of a text's words; a word without a vector counts as zeros.

        f = (1/|text|) Σ_words v(word)

    The data must come with public vectors, such as GloVe's (``vocabulary = "glove"``). Of several examples of
    one text each gets the same features.

    Pennington, Socher and Manning 2014.
    """

    source: ClassVar[str] = "the text that the word vectors were fitted to"
    source_labels: ClassVar[bool] = False

    def compute(self, x: Tensor | Ragged, vocabulary: Vocabulary | None) -> Tensor:
        if not isinstance(x, Ragged) or vocabulary is None or vocabulary.vectors is None:
            raise InvalidValue(
                "examples must be texts whose vocabulary has public vectors for words, got others; take "
                "vocabulary = 'glove' in [data]"
            )
        vectors = vocabulary.vectors
        # Padding and the unknown word have none.
        vectors = torch.cat([torch.zeros(vocabulary.size - len(vectors), vectors.shape[1]), vectors])
        owner = torch.repeat_interleave(torch.arange(len(x)), x.offsets.diff())
        total = torch.zeros(len(x), vectors.shape[1])
        total.index_add_(0, owner, vectors[x.values])
        return total / x.offsets.diff().unsqueeze(1)
