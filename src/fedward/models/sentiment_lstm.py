"""The LSTM classifier of tweets, on word vectors that are not trained."""

from __future__ import annotations

from torch import nn

from fedward.base.validate import whole
from fedward.core.vocabulary import Vocabulary
from fedward.models.text_lstm import TextLSTM, check_text, frozen_vectors

HIDDEN = 256


def sentiment_lstm(
    *, vocabulary: Vocabulary | None = None, num_classes: int = 2, hidden: int = HIDDEN
) -> nn.Module:
    """Frozen word vectors, two LSTM layers of 256 units, one linear layer on the last word's state.

    With GloVe's vectors of 300 numbers 1,098,242 parameters for two classes, of 50 numbers 842,242; the
    vectors are not among them: they are neither trained, nor sent, nor clipped, nor noised.

    Args:
      vocabulary: the words and their vectors, from the data.
      num_classes: how many outputs there are.
      hidden: units of each LSTM layer.

    >>> import torch
    >>> words = Vocabulary(words=("good", "bad"), vectors=torch.zeros(2, 300))
    >>> models = [sentiment_lstm(vocabulary=words, num_classes=n) for n in (2, 10)]
    >>> [sum(p.numel() for p in model.parameters() if p.requires_grad) for model in models]
    [1098242, 1100298]
    >>> models[0](torch.tensor([[2, 3], [1, 0]])).shape
    torch.Size([2, 2])

    Xie et al. 2022, after Li et al. 2018: two layers, 256 units, GloVe. Neither text has a further layer
    (the code of Li et al. has one of 30 units between), nor says which state is read or what unknown words
    get: here the last word's, and the mean of all vectors.
    """
    words = check_text("sentiment_lstm", vocabulary, num_classes)
    whole("hidden", hidden)
    return TextLSTM(frozen_vectors("sentiment_lstm", words), (hidden, hidden), num_classes)
