"""The LSTM that predicts the next word, with word vectors of its own."""

from __future__ import annotations

from torch import nn

from fedward.base.validate import whole
from fedward.core.vocabulary import Vocabulary
from fedward.models.text_lstm import TextLSTM, check_text, learned_vectors

EMBEDDING = 64
HIDDEN = 128


def word_lstm(
    *,
    vocabulary: Vocabulary | None = None,
    num_classes: int = 2,
    embedding: int = EMBEDDING,
    hidden: int = HIDDEN,
) -> nn.Module:
    """Trained word vectors, one LSTM layer, one linear layer with a score for each word.

    485,585 parameters for 2,000 words and 2,001 classes, small enough for two cores. It classifies whole
    texts as well: the classes are whatever the labels are.

    Args:
      vocabulary: the words, from the data; their vectors, if it has any, are not used.
      num_classes: how many outputs there are.
      embedding: numbers in a word's vector.
      hidden: units of the LSTM layer.

    >>> import torch
    >>> words = Vocabulary(words=tuple(f"word{i}" for i in range(2000)), vectors=None)
    >>> models = [word_lstm(vocabulary=words, num_classes=n) for n in (2, 10, 2001)]
    >>> [sum(p.numel() for p in model.parameters()) for model in models]
    [227714, 228746, 485585]
    >>> models[0](torch.tensor([[2, 3], [1, 0]])).shape
    torch.Size([2, 2])

    What we have of Naseri et al. has a word-prediction task and no sizes. The next-word models of the
    literature (McMahan et al., Learning differentially private recurrent language models, 2018; Bagdasaryan
    et al. 2020) are larger LSTMs over more words. The output has weights of its own, not those of the word
    vectors: classes need not be words.
    """
    words = check_text("word_lstm", vocabulary, num_classes)
    whole("embedding", embedding)
    whole("hidden", hidden)
    return TextLSTM(learned_vectors(words, embedding), (hidden,), num_classes)
