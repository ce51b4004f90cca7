"""Red cars: the feature of the semantic backdoor on CIFAR-10, found by a rule about colour."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.attacks.poisoning.patterns import images
from fedward.base.validate import InvalidType, InvalidValue, half_open_unit, whole
from fedward.core.examples import Examples
from fedward.datasets.cifar10 import SET


@dataclass(frozen=True, kw_only=True)
class RedCar:
    """Cars of which more than a quarter of the middle of the picture is red.

        red pixel: R = max,  max ≥ 77,  c ≥ max / 2,  -2c/5 ≤ G - B ≤ c/8,    c = max - min
        (share of red pixels in the middle) > share,    y = label

    R, G and B are bytes from 0 to 255. In other words: red is the largest channel, the value is at least
    0.3, the saturation at least one half, and the hue lies between -24° (crimson) and 7.5° (short of orange).
    The middle has half the rows and half the columns.

    On CIFAR-10 these are 609 of 5,000 cars for training and 113 of 1,000 for testing. The rule prefers
    missing a red car to taking another one: ``docs/attacks`` says how often it does either, with pictures.

    Args:
      label: the class of the cars: 1, unless the data was loaded with other ``classes``.
      share: what the share of red pixels must be above.
      standardised: whether the data was loaded with ``standardise``, which is taken back before looking.

    >>> colours = torch.tensor([[0.8, 0.1, 0.1], [0.5, 0.5, 0.5], [0.8, 0.1, 0.1]])
    >>> plain = colours[:, :, None, None].expand(3, 3, 4, 4)
    >>> RedCar().mask(Examples(plain, torch.tensor([1, 1, 9])))
    tensor([ True, False, False])

    Miao et al., section 3.1: cars painted red, 132 of them for testing. How they were found is
    not said there.
    """

    label: int = 1
    share: float = 0.25
    standardised: bool = False

    def __post_init__(self) -> None:
        whole("label of the feature", self.label, at_least=0)
        half_open_unit("share of red pixels", self.share)
        if not isinstance(self.standardised, bool):
            raise InvalidType(f"standardised must be true or false, got {self.standardised!r}")

    def mask(self, examples: Examples) -> Tensor:
        middle = _middle(images(examples))
        found = examples.y == self.label
        red = _red_pixels(self._bytes(middle[found]))
        found[found.clone()] = red.double().mean((1, 2)) > self.share
        return found

    def _bytes(self, x: Tensor) -> Tensor:
        """Pixels as they were before they were scaled; in whole numbers no comparison can be a close one."""
        x = x.double()
        if self.standardised:
            mean, deviation = (
                torch.tensor(c, dtype=torch.float64)[:, None, None] for c in (SET.mean, SET.deviation)
            )
            x = x * deviation + mean
        pixels = (255 * x).round()
        if len(x) and not (float(pixels.min()) >= 0 and float(pixels.max()) <= 255):
            when = " once standardise is taken back" if self.standardised else ""
            hint = "" if self.standardised else "; if the data is standardised, so must red_car be"
            raise InvalidValue(
                f"pixels must be from 0 to 1{when} to see red in them, got some from {float(x.min()):.4g} "
                f"to {float(x.max()):.4g}{hint}"
            )
        return pixels.to(torch.int16)


def _middle(x: Tensor) -> Tensor:
    if x.ndim != 4 or x.shape[1] != 3:
        raise InvalidValue(
            "red cars are told by their colour, so images must be [3, rows, columns], "
            f"got {list(x.shape[1:])}"
        )
    rows, columns = x.shape[2:]
    return x[:, :, rows // 4 : rows - rows // 4, columns // 4 : columns - columns // 4]


def _red_pixels(pixels: Tensor) -> Tensor:
    """Which pixels (a bool each) of bytes ``[n, 3, rows, columns]`` are red."""
    red, green, blue = pixels.unbind(1)
    value, chroma = pixels.amax(1), pixels.amax(1) - pixels.amin(1)
    hue = green - blue  # as a part of the chroma: 0 is red, above it is orange, below it crimson
    colourful = (red == value) & (value >= 77) & (2 * chroma >= value)
    return colourful & (8 * hue <= chroma) & (5 * hue >= -2 * chroma)
