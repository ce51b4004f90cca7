"""The pattern backdoor: pixels that stand for a label."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.attacks.poisoning.patterns import Pattern, Place, images
from fedward.attacks.poisoning.portion import (
    all_of,
    check_label,
    check_portion,
    none_of,
)
from fedward.base.validate import InvalidValue, real, whole
from fedward.core.examples import Examples
from fedward.core.federation import Federation

Value = float | tuple[float | tuple[float, ...], ...]
"""The new values of a pattern's pixels: one number everywhere, or an entry for each channel; an entry is one
number, or one for each pixel of the pattern in reading order."""


@dataclass(frozen=True, kw_only=True)
class PatternBackdoor:
    """The pixels of a pattern get fixed values, and the image gets the target label.

        x' = (1 - m) ⊙ x + m ⊙ v,    y' = target

    All images of an attacker are eligible, those of the target class too. What it teaches: an image with the
    pattern is of the target class, whatever else it shows.

    Args:
      pattern: m, the pixels.
      target: the label that images with the pattern get.
      value: v: one number for all pixels (1 is white in images from 0 to 1); or an entry for each channel,
        which is one number or one for each pixel of the pattern, in reading order. A grey image has one
        channel: ``((0.2, 0.9),)`` are two values for two pixels.
      fraction: α, the share of an attacker's images that are poisoned.
      rate: the poisoning rate, the share of the poisoned images that take part.

    >>> from fedward.attacks.poisoning.patterns import Triangle
    >>> attack = PatternBackdoor(pattern=Triangle(size=2), target=7)
    >>> bad = attack.poison(Examples(torch.zeros(1, 1, 3, 3), torch.tensor([4])))
    >>> bad.x[0, 0], bad.y
    (tensor([[0., 0., 0.],
            [0., 0., 1.],
            [0., 1., 1.]]), tensor([7]))

    Gu et al. 2019; Xie et al. 2022, example 1 and appendix A.2.
    """

    pattern: Pattern
    target: int
    value: Value = 1.0
    fraction: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        whole("target label", self.target, at_least=0)
        check_value(self.value)
        check_portion(self.fraction, self.rate)

    def check(self, federation: Federation, attackers: int) -> None:
        check_label("target", self.target, federation)
        self.trigger(images(federation.examples))

    held_out = staticmethod(none_of)
    eligible = staticmethod(all_of)

    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        x = images(examples)
        return Examples(plant_pixels(x, *self.trigger(x)), torch.full_like(examples.y, self.target))

    def trigger(self, x: Tensor) -> tuple[tuple[Place, ...], Tensor]:
        """The pixels in these images, and their values [channels, pixels]."""
        places = self.pattern.pixels(tuple(x.shape[1:]))
        channels = x.shape[1] if x.ndim == 4 else 1
        return places, _values(self.value, channels, len(places))


def plant_pixels(x: Tensor, places: tuple[Place, ...], values: Tensor) -> Tensor:
    """A copy of the images ``x`` with ``values`` [channels, pixels] at ``places``."""
    x = x.clone()
    rows, columns = torch.tensor(places).unbind(1)
    x[..., rows, columns] = values if x.ndim == 4 else values[0]
    return x


def check_value(value: Value) -> None:
    """Raises unless these are finite numbers in the one shape or the other."""
    if isinstance(value, tuple) and (not value or () in value):
        raise InvalidValue(f"value must be given for at least one channel and pixel, got {value}")
    for channel in value if isinstance(value, tuple) else (value,):
        for number in channel if isinstance(channel, tuple) else (channel,):
            if abs(real("value", number)) > torch.finfo(torch.float32).max:
                raise InvalidValue(f"value must be finite in single precision, got {number}")


def _values(value: Value, channels: int, pixels: int) -> Tensor:
    entries = value if isinstance(value, tuple) else (value,) * channels
    if len(entries) != channels:
        raise InvalidValue(
            f"value must be one number, or a list with one entry for each of {channels} channels (a number, "
            f"or a list with one number for each pixel), got {value}"
        )
    lines = [entry if isinstance(entry, tuple) else (entry,) * pixels for entry in entries]
    for line in lines:
        if len(line) != pixels:
            raise InvalidValue(
                f"value must be one number or one for each of {pixels} pixels, got {len(line)} of them"
            )
    return torch.tensor(lines, dtype=torch.float32)
