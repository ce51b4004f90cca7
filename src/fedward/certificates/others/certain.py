"""The confidence of what is certain: votes that were counted, all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fedward.base.validate import InvalidValue, whole
from fedward.certificates.confidence import Confidence, TopClass
from fedward.certificates.tally import Scores, Tally

EXACT = "exact"


@dataclass(frozen=True, kw_only=True)
class Certain:
    """Nothing is estimated: the models that voted are the ones that the certificate is about.

    It has the fields of a ``Confidence``, with no error.

    Args:
      looks: how many models there are.

    >>> Certain(looks=(50,)).replicas
    50
    """

    looks: tuple[int]

    method: ClassVar[str] = EXACT
    error: ClassVar[float] = 0.0
    simultaneous: ClassVar[bool] = True

    def __post_init__(self) -> None:
        (models,) = self.looks
        object.__setattr__(self, "looks", (int(whole("number of models", models)),))

    @property
    def replicas(self) -> int:
        return self.looks[0]

    def each(self, classes: int, examples: int) -> float:
        """No bound may fail."""
        return 0.0

    def tally(self, scores: Scores) -> Tally:
        """How the models voted; all of them must be there."""
        votes = scores if isinstance(scores, Tally) else Tally.of(scores)
        if len(votes) != self.replicas:
            raise InvalidValue(f"number of models must be {self.replicas}, got {len(votes)}")
        return votes

    def bounds(self, scores: Scores) -> TopClass:
        """The class with most votes (the smallest of several), its share, and the largest share of others."""
        counts = self.tally(scores).counts
        rows, top = np.arange(len(counts)), counts.argmax(axis=1)
        others = counts.copy()
        others[rows, top] = 0
        share = 1.0 / self.replicas
        return TopClass(top.astype(np.int64), counts[rows, top] * share, others.max(axis=1) * share)


Rule = Confidence | Certain
"""How sure the votes or means behind a certificate are."""
