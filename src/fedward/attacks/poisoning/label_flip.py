"""Label flipping: the inputs stay, the labels lie."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedward.attacks.poisoning.portion import check_label, check_portion, none_of, relabel
from fedward.base.validate import InvalidValue, whole
from fedward.core.examples import Examples
from fedward.core.federation import Federation


@dataclass(frozen=True, kw_only=True)
class LabelFlip:
    """Examples of the source class get the target label; without a source, all examples do.

        y' = target   where y = source (or y ≠ target)

    It changes labels only, so it works on images, text and tables alike.

    Args:
      target: the label that they get.
      source: the label that they had; None for every other label.
      fraction: α, the share of an attacker's examples of the source that are flipped.
      rate: the poisoning rate, the share of the flipped examples that take part.

    >>> import torch
    >>> flip, mine = LabelFlip(target=0, source=1), Examples(torch.zeros(3, 2), torch.tensor([1, 2, 0]))
    >>> flip.eligible(mine), LabelFlip(target=0).eligible(mine)
    (tensor([ True, False, False]), tensor([ True,  True, False]))

    Biggio et al. 2012; Xie et al. 2022, example 2 and appendix A.3 (1 becomes 0).
    """

    target: int
    source: int | None = None
    fraction: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        whole("target label", self.target, at_least=0)
        if self.source is not None:
            whole("source label", self.source, at_least=0)
        if self.source == self.target:
            raise InvalidValue(f"source label must differ from the target label, got {self.source} for both")
        check_portion(self.fraction, self.rate)

    def check(self, federation: Federation, attackers: int) -> None:
        check_label("target", self.target, federation)
        if self.source is not None:
            check_label("source", self.source, federation)
        if not bool(self.eligible(federation.examples).any()):
            wanted = "all but the target label" if self.source is None else f"label {self.source}"
            raise InvalidValue(f"training examples must hold one to flip ({wanted}), got none")

    held_out = staticmethod(none_of)

    def eligible(self, examples: Examples) -> Tensor:
        return examples.y != self.target if self.source is None else examples.y == self.source

    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        return relabel(examples, self.target)
