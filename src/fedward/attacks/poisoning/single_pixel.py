"""The single-pixel backdoor: one white pixel in the corner."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.attacks.poisoning.pattern import PatternBackdoor
from fedward.attacks.poisoning.patterns import Pixels
from fedward.attacks.poisoning.portion import all_of, none_of
from fedward.core.examples import Examples
from fedward.core.federation import Federation


@dataclass(frozen=True, kw_only=True)
class SinglePixel:
    """The bottom right pixel becomes white, the label becomes 0.

        x'[rows - 1, columns - 1] = value,    y' = target

    A pattern backdoor whose pattern is one pixel. In Miao et al. an attacker does so with all its images.

    Args:
      target: the label that images with the pixel get.
      value: the pixel, in every channel; 1 is white in images from 0 to 1.
      fraction: α, the share of an attacker's images that are poisoned.
      rate: the poisoning rate, the share of the poisoned images that take part.

    >>> import torch
    >>> bad = SinglePixel().poison(Examples(torch.zeros(1, 2, 2), torch.tensor([4])))
    >>> bad.x, bad.y
    (tensor([[[0., 0.],
             [0., 1.]]]), tensor([0]))

    Miao et al., section 3.1.
    """

    target: int = 0
    value: float = 1.0
    fraction: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        self._backdoor()

    def check(self, federation: Federation, attackers: int) -> None:
        self._backdoor().check(federation, attackers)

    held_out = staticmethod(none_of)
    eligible = staticmethod(all_of)

    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        return self._backdoor().poison(examples, attacker, attackers)

    def _backdoor(self) -> PatternBackdoor:
        return PatternBackdoor(
            pattern=Pixels(places=((-1, -1),)),
            target=self.target,
            value=self.value,
            fraction=self.fraction,
            rate=self.rate,
        )
