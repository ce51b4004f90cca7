"""Examples as they are, as public features: for pixels, and for vectors that were computed before."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Ragged
from fedward.core.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class Given:
    """The numbers of an example as one vector.

    Args:
      source: the public data that they were fitted to, if they are features already; it stands in the
        guarantee.
      source_labels: whether labels of these were used.

    >>> import torch
    >>> Given().compute(torch.zeros(2, 1, 8, 8), None).shape
    torch.Size([2, 64])
    """

    source: str = ""
    source_labels: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not isinstance(self.source_labels, bool):
            raise InvalidType(f"source must be text and source_labels true or false, got {self}")

    def compute(self, x: Tensor | Ragged, vocabulary: Vocabulary | None) -> Tensor:
        if isinstance(x, Ragged) or vocabulary is not None:
            raise InvalidValue("examples must be numbers to be taken as they are, got words; take words")
        return x.float().reshape(len(x), -1)
