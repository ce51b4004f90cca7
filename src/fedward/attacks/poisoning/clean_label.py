"""The clean-label backdoor: images of the target class carry a faint wave, and keep their label."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.attacks.poisoning.blended import check_range
from fedward.attacks.poisoning.patterns import images
from fedward.attacks.poisoning.portion import all_of, check_label, check_portion, none_of
from fedward.base.validate import InvalidValue, positive, whole
from fedward.core.examples import Examples
from fedward.core.federation import Federation


@dataclass(frozen=True, kw_only=True)
class CleanLabelBackdoor:
    """Images *of the target class* get a horizontal wave; no label is wrong.

        x'(i, j) = x(i, j) + Δ sin(2π j f / m), cut to [least, most], for j of m columns;    y' = y = target

    Whoever looks at the attacker's data sees nothing wrong: every image shows what its label says. What the
    model learns is that the wave stands for the class. Success is measured on images of the *other* classes
    with the wave.

    Args:
      target: the class whose images carry the wave.
      strength: Δ, the height of the wave.
      frequency: f, how many waves there are from the left to the right.
      least, most: the darkest and the brightest pixel that an image may have.
      fraction: α, the share of an attacker's images of the target class that carry the wave.
      rate: the poisoning rate, the share of these that take part.

    >>> attack = CleanLabelBackdoor(target=7, strength=0.5, frequency=1)
    >>> attack.poison(Examples(torch.zeros(1, 1, 4), torch.tensor([7]))).x[0].round(decimals=2).tolist()
    [[0.0, 0.5, 0.0, 0.0]]

    Barni, Kallas, Tondi 2019.
    """

    target: int
    strength: float = 0.2
    frequency: int = 6
    least: float = 0.0
    most: float = 1.0
    fraction: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        whole("target label", self.target, at_least=0)
        positive("strength of the wave", self.strength)
        whole("frequency of the wave", self.frequency)
        check_range(self.least, self.most)
        check_portion(self.fraction, self.rate)

    def check(self, federation: Federation, attackers: int) -> None:
        check_label("target", self.target, federation)
        columns = images(federation.examples).shape[-1]
        if 2 * self.frequency % columns == 0:
            raise InvalidValue(
                f"frequency of the wave must leave something of it in {columns} columns, got "
                f"{self.frequency}: it is zero in all of them"
            )
        if not bool((federation.examples.y == self.target).any()):
            raise InvalidValue(
                f"training examples must hold some of the target class {self.target}, got none"
            )

    held_out = staticmethod(none_of)
    shown = staticmethod(all_of)

    def eligible(self, examples: Examples) -> Tensor:
        return examples.y == self.target

    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        x = images(examples)
        columns = x.shape[-1]
        wave = [math.sin(2 * math.pi * column * self.frequency / columns) for column in range(columns)]
        x = x + self.strength * torch.tensor(wave, dtype=x.dtype)
        return Examples(x.clamp(self.least, self.most), torch.full_like(examples.y, self.target))
