"""The blended backdoor: a faint picture over the whole image stands for a label."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.attacks.poisoning.patterns import images
from fedward.attacks.poisoning.portion import all_of, check_label, check_portion, none_of
from fedward.base.randomness import stream
from fedward.base.validate import InvalidValue, rate, real, whole
from fedward.core.examples import Examples
from fedward.core.federation import Federation


@dataclass(frozen=True, kw_only=True)
class BlendedBackdoor:
    """Every image is mixed with one picture of noise, and gets the target label.

        x' = (1 - α) x + α k,    y' = target,    k drawn once, evenly between the darkest and brightest pixel

    All images of an attacker are eligible. There is no spot to look at: every pixel carries a little of it.

    Args:
      target: the label that images with the picture get.
      weight: α, how much of the picture is mixed in. With 1 nothing is left of the image.
      key: the seed of the picture k.
      least, most: the darkest and the brightest pixel of k.
      fraction: the share of an attacker's images that are poisoned.
      rate: the poisoning rate, the share of the poisoned images that take part.

    >>> attack = BlendedBackdoor(target=7, weight=0.5)
    >>> bad = attack.poison(Examples(torch.zeros(1, 1, 2, 2), torch.tensor([4])))
    >>> bool(((bad.x > 0) & (bad.x < 0.5)).all()), bad.y
    (True, tensor([7]))

    Chen, Liu, Li, Lu, Song 2017, the blended injection strategy with a random pattern.
    """

    target: int
    weight: float = 0.2
    key: int = 0
    least: float = 0.0
    most: float = 1.0
    fraction: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        whole("target label", self.target, at_least=0)
        rate("weight of the picture", self.weight)
        whole("key", self.key, at_least=0)
        check_range(self.least, self.most)
        check_portion(self.fraction, self.rate)

    def check(self, federation: Federation, attackers: int) -> None:
        check_label("target", self.target, federation)
        images(federation.examples)

    held_out = staticmethod(none_of)
    eligible = staticmethod(all_of)

    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        x = images(examples)
        mixed = x * (1 - self.weight) + self.picture(x) * self.weight
        return Examples(mixed, torch.full_like(examples.y, self.target))

    def picture(self, x: Tensor) -> Tensor:
        """k, for images of this shape."""
        drawn = stream(self.key, "poisoning").uniform(self.least, self.most, size=tuple(x.shape[1:]))
        return torch.from_numpy(drawn).to(x.dtype)


def check_range(least: float, most: float) -> None:
    """Raises unless the brightest pixel is above the darkest."""
    if real("darkest pixel", least) >= real("brightest pixel", most):
        raise InvalidValue(f"brightest pixel must be above the darkest, {least}, got {most}")
