"""The common part of all text models: word vectors, LSTM layers, scores from the last word's state."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fedward.base.validate import InvalidValue, whole
from fedward.core.vocabulary import PADDING, Vocabulary


class TextLSTM(nn.Module):
    """Scores of sequences of tokens: embedding, LSTM layers, one linear layer on the state at the last word.

        h_t = LSTM(E[x_t], h_{t-1}),    scores = W h_T + b,    x_T the last token that is not padding

    Padding stands behind the words, an LSTM reads forwards, and only h_T is used: so a sequence has the same
    scores and the same gradient alone and beside a longer one. Packing the batch would say the same, and took
    half as long again where it was measured (batches of 10 tweets, one thread).

    Args:
      embedding: the vectors of the tokens; frozen or not.
      hidden: the size of each LSTM layer's state.
      num_classes: how many outputs there are.
    """

    def __init__(self, embedding: nn.Embedding, hidden: Sequence[int], num_classes: int) -> None:
        super().__init__()
        self.embedding = embedding
        sizes = [embedding.embedding_dim, *hidden]
        # One module a layer, so that clipping by layers sees each of them.
        self.layers = nn.ModuleList(
            nn.LSTM(into, out, batch_first=True) for into, out in zip(sizes, hidden, strict=False)
        )
        self.output = nn.Linear(sizes[-1], num_classes)

    def forward(self, tokens: Tensor) -> Tensor:
        states: Tensor = self.embedding(tokens)
        for layer in self.layers:
            states, _ = layer(states)
        scores: Tensor = self.output(states[torch.arange(len(tokens)), last_words(tokens)])
        return scores


def last_words(tokens: Tensor) -> Tensor:
    """Where the last token that is not padding stands in each row; 0 if there is none.

    >>> last_words(torch.tensor([[5, 3, 0], [7, 0, 2], [0, 0, 0]]))
    tensor([1, 2, 0])
    """
    places = torch.arange(tokens.shape[1], device=tokens.device)
    return (places * (tokens != PADDING)).amax(1)


def learned_vectors(vocabulary: Vocabulary, size: int) -> nn.Embedding:
    """Vectors to be trained, one for each token; the padding's has no gradient and reaches no score."""
    return nn.Embedding(vocabulary.size, size, padding_idx=PADDING)


def frozen_vectors(model: str, vocabulary: Vocabulary) -> nn.Embedding:
    """The vocabulary's own vectors, never trained and never sent: a parameter that needs no gradient.

    The padding's is zero; that of unknown words is the mean of all, as is usual for GloVe.
    """
    vectors = vocabulary.vectors
    if vectors is None:
        raise InvalidValue(
            f"{model} needs a vector for each word, but the vocabulary has none: give the data vectors "
            "(GloVe's, say), or take word_lstm, which learns its own"
        )
    padding, unknown = torch.zeros(1, vectors.shape[1]), vectors.mean(0, keepdim=True)
    table = torch.cat([padding, unknown, vectors])
    frozen: nn.Embedding = nn.Embedding.from_pretrained(table, freeze=True, padding_idx=PADDING)  # type: ignore[no-untyped-call]
    return frozen


def check_text(model: str, vocabulary: Vocabulary | None, num_classes: int) -> Vocabulary:
    """Returns the vocabulary that a model of text cannot do without."""
    whole("number of classes", num_classes, at_least=2)
    if vocabulary is None:
        raise InvalidValue(
            f"{model} reads words, so the data must have a vocabulary, got data without one; choose another "
            "model: fedward list model"
        )
    return vocabulary
