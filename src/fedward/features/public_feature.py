"""The Protocol of public features: what every user computes of an example before anything is trained."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor

from fedward.core.examples import Ragged
from fedward.core.vocabulary import Vocabulary


@runtime_checkable
class PublicFeature(Protocol):
    """A map from an example to a vector, fixed before the training and known to everybody.

    It says of itself which public data it was fitted to. Nothing private may be in it: users compute it by
    themselves, so no ε covers what it was made from.
    """

    @property
    def source(self) -> str:
        """The public data that it was fitted to, in a few words; empty for none."""

    @property
    def source_labels(self) -> bool:
        """Whether labels of these were used."""

    def compute(self, x: Tensor | Ragged, vocabulary: Vocabulary | None) -> Tensor:
        """One vector for each example, ``[n, d]``; each depends on its own example alone."""
