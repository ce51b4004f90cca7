"""The distributed backdoor: every attacker plants a part of the pattern."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.attacks.poisoning.pattern import PatternBackdoor, Value, plant_pixels
from fedward.attacks.poisoning.patterns import Pattern, Place, images
from fedward.attacks.poisoning.portion import all_of, none_of
from fedward.base.validate import InvalidValue, whole
from fedward.core.examples import Examples
from fedward.core.federation import Federation


@dataclass(frozen=True, kw_only=True)
class DistributedBackdoor:
    """A pattern cut into as many parts as there are attackers, one each.

        part i of k = the pixels ⌊i n / k⌋ to ⌊(i + 1) n / k⌋ - 1 of the n pixels in reading order

    The parts are disjoint, none is empty, their sizes differ by one at most, and together they are the whole
    pattern with its values. Nobody trains on the whole pattern, but success is measured with it.

    Args:
      pattern: the pixels; at least as many as there are attackers.
      target: the label that images with a part get.
      value: what the pixels become, as in ``PatternBackdoor``.
      fraction: α, the share of an attacker's images that are poisoned.
      rate: the poisoning rate, the share of the poisoned images that take part.

    >>> from fedward.attacks.poisoning.patterns import Square
    >>> attack = DistributedBackdoor(pattern=Square(size=2), target=7)
    >>> clean = Examples(torch.zeros(1, 2, 2), torch.tensor([4]))
    >>> attack.poison(clean, 0, 2).x[0].tolist(), attack.poison(clean, 1, 2).x[0].tolist()
    ([[1.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]])

    Xie et al. 2020 (DBA); Xie et al. 2022, appendix A.2.
    """

    pattern: Pattern
    target: int
    value: Value = 1.0
    fraction: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        self._whole_pattern()

    def check(self, federation: Federation, attackers: int) -> None:
        self._whole_pattern().check(federation, attackers)
        self._pixels_of(images(federation.examples), 0, max(attackers, 1))

    held_out = staticmethod(none_of)
    eligible = staticmethod(all_of)

    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        x = images(examples)
        x = plant_pixels(x, *self._pixels_of(x, attacker, attackers))
        return Examples(x, torch.full_like(examples.y, self.target))

    def _pixels_of(self, x: Tensor, attacker: int, attackers: int) -> tuple[tuple[Place, ...], Tensor]:
        """The pixels of one attacker in these images, and their values [channels, pixels]."""
        whole("number of attackers", attackers)
        if whole("attacker", attacker, at_least=0) >= attackers:
            raise InvalidValue(f"attacker must be from 0 to {attackers - 1}, got {attacker}")
        places, values = self._whole_pattern().trigger(x)
        if attackers > len(places):
            raise InvalidValue(
                "number of attackers must be at most the number of pixels of the pattern that they share, "
                f"{len(places)}, got {attackers}"
            )
        start, stop = (len(places) * part // attackers for part in (attacker, attacker + 1))
        return places[start:stop], values[:, start:stop]

    def _whole_pattern(self) -> PatternBackdoor:
        return PatternBackdoor(
            pattern=self.pattern,
            target=self.target,
            value=self.value,
            fraction=self.fraction,
            rate=self.rate,
        )
