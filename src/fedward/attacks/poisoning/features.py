"""Features that some examples have by nature: what a semantic backdoor looks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from fedward.attacks.poisoning.patterns import images
from fedward.attacks.poisoning.red_car import RedCar
from fedward.base.validate import non_negative, real, whole
from fedward.core.examples import Examples


class Feature(Protocol):
    """Something that an example has or has not, whoever owns it."""

    def mask(self, examples: Examples) -> Tensor:
        """Which of these examples (a bool each) have it."""


@dataclass(frozen=True, kw_only=True)
class BoldDigit:
    """Digits of one class that are written with a broad pen: their mean pixel is above ``ink``.

        mean over all pixels of x > ink,    y = label

    On MNIST (x / 255) ``BoldDigit(label=7, ink=0.17)`` is 5 % of the sevens: 313 of 6,265 for training and 53
    of 1,028 for testing. On the built-in digits of 8 x 8 pixels ``ink=0.33`` is 25 of 179 sevens.

    Args:
      label: the class.
      ink: what the mean pixel must be above.

    >>> grey = Examples(torch.tensor([[[0.1, 0.2]], [[0.6, 0.8]], [[0.6, 0.8]]]), torch.tensor([7, 7, 1]))
    >>> BoldDigit(label=7, ink=0.5).mask(grey)
    tensor([False,  True, False])
    """

    label: int
    ink: float

    def __post_init__(self) -> None:
        whole("label of the feature", self.label, at_least=0)
        non_negative("ink", self.ink)

    def mask(self, examples: Examples) -> Tensor:
        return _of_class(self.label, examples, lambda x: x.flatten(1).mean(1) > self.ink)


@dataclass(frozen=True, kw_only=True)
class SlantedDigit:
    """Digits of one class that lean to the right: by more than ``slant`` columns for each row.

        - cov(row, column) / var(row) > slant,    y = label

    Rows are counted downwards, so what leans to the right, as italics do, has a positive slant. Every pixel
    counts as much as it is above 0; an image without ink, or with ink in one row only, has no slant (0).

    On MNIST (x / 255) ``SlantedDigit(label=7, slant=0.43)`` is 5 % of the sevens: 299 of 6,265 for training
    and 56 of 1,028 for testing. On the built-in digits of 8 x 8 pixels ``slant=0.22`` is 23 of 179 sevens.

    Args:
      label: the class.
      slant: what the slant must be above.

    >>> stroke = torch.eye(3).flip(1)  # from the bottom left to the top right
    >>> pair = Examples(torch.stack([stroke, torch.eye(3)]), torch.tensor([7, 7]))
    >>> SlantedDigit(label=7, slant=0.5).mask(pair)
    tensor([ True, False])
    """

    label: int
    slant: float

    def __post_init__(self) -> None:
        whole("label of the feature", self.label, at_least=0)
        real("slant", self.slant)

    def mask(self, examples: Examples) -> Tensor:
        return _of_class(self.label, examples, lambda x: _slant(x) > self.slant)


FEATURES: dict[str, type[Feature]] = {
    "bold_digit": BoldDigit,
    "slanted_digit": SlantedDigit,
    "red_car": RedCar,
}
"""The features that semantic backdoors look for, by the names that experiment files use."""


def _of_class(label: int, examples: Examples, holds: Callable[[Tensor], Tensor]) -> Tensor:
    """Which examples are of the class, and have images for which something holds."""
    found = examples.y == label
    # In double precision sums over pixels of 8 bits are exact: an example has a feature or not, whatever
    # other examples are looked at together with it.
    found[found.clone()] = holds(images(examples)[found].double())
    return found


def _slant(x: Tensor) -> Tensor:
    ink = x.clamp(min=0).sum(1) if x.ndim == 4 else x.clamp(min=0)
    rows, columns = (torch.arange(length, dtype=torch.float64) for length in ink.shape[1:])
    total = ink.sum((1, 2)).clamp(min=torch.finfo(torch.float64).tiny)
    by_row, by_column = ink.sum(2), ink.sum(1)
    row, column = (by_row * rows).sum(1) / total, (by_column * columns).sum(1) / total
    spread = (by_row * rows**2).sum(1) / total - row**2
    together = ((ink * columns).sum(2) * rows).sum(1) / total - row * column
    return torch.where(spread > 1e-9, -together / spread, 0.0)
