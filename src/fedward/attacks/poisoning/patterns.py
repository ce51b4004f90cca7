"""Patterns: which pixels of an image a trigger covers."""

from __future__ import annotations

import itertools
import numbers
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from torch import Tensor

from fedward.base.validate import InvalidType, InvalidValue, whole
from fedward.core.examples import Examples, Ragged

Place = tuple[int, int]
"""A pixel: (row, column)."""


class Pattern(Protocol):
    """Some pixels of an image, at least one."""

    def pixels(self, shape: tuple[int, ...]) -> tuple[Place, ...]:
        """The pixels in an image of this shape (the last two are rows and columns), in reading order.

        No pixel comes twice; one that does not lie inside the image is an error that names it.
        """


@dataclass(frozen=True, kw_only=True)
class Pixels:
    """The pixels that are listed: any mask can be written so.

    Args:
      places: (row, column) of each, from 0. Negative ones count from the end, as in Python.

    >>> Pixels(places=((-1, -1), (0, 0))).pixels((1, 28, 28))
    ((0, 0), (27, 27))
    >>> Pixels.from_mask([[0, 1], [1, 0]])
    Pixels(places=((0, 1), (1, 0)))
    """

    places: tuple[Place, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.places, tuple) or not all(
            isinstance(place, tuple) and len(place) == 2 for place in self.places
        ):
            raise InvalidType(f"places must be pairs of a row and a column, got {self.places!r}")
        for row, column in self.places:
            _index("row", row)
            _index("column", column)
        if not self.places:
            raise InvalidValue("a pattern must have at least one pixel, got 0")

    @classmethod
    def from_mask(cls, mask: Any) -> Pixels:
        """The pixels where a mask of [rows, columns] is not zero."""
        array = np.asarray(mask)
        if array.ndim != 2:
            raise InvalidValue(f"mask must have rows and columns, got shape {array.shape}")
        return cls(places=tuple((int(row), int(column)) for row, column in np.argwhere(array)))

    def pixels(self, shape: tuple[int, ...]) -> tuple[Place, ...]:
        rows, columns = shape[-2:]
        return _inside(
            [
                (_count_from_start(row, rows), _count_from_start(column, columns))
                for row, column in self.places
            ],
            shape,
        )


@dataclass(frozen=True, kw_only=True)
class Square:
    """A full square.

    Args:
      size: the pixels of a side.
      row, column: its top left pixel, from 0 or, if negative, from the end. None puts it at the bottom, or
        at the right edge.

    >>> Square(size=2).pixels((28, 28))
    ((26, 26), (26, 27), (27, 26), (27, 27))
    """

    size: int
    row: int | None = None
    column: int | None = None

    def __post_init__(self) -> None:
        whole("size of the square", self.size)
        for name, index in (("row", self.row), ("column", self.column)):
            if index is not None:
                _index(name, index)

    def pixels(self, shape: tuple[int, ...]) -> tuple[Place, ...]:
        rows, columns = shape[-2:]
        top = rows - self.size if self.row is None else _count_from_start(self.row, rows)
        left = columns - self.size if self.column is None else _count_from_start(self.column, columns)
        if self.size > max(rows, columns):  # its pixels would fill the memory
            _require_inside([(top, left), (top + self.size - 1, left + self.size - 1)], shape)
        side = range(self.size)
        return _inside([(top + i, left + j) for i in side for j in side], shape)


@dataclass(frozen=True, kw_only=True)
class Triangle:
    """A full triangle in the bottom right corner, whose right angle lies in that corner.

    Args:
      size: the pixels of the two sides along the edges.

    >>> Triangle(size=2).pixels((28, 28))
    ((26, 27), (27, 26), (27, 27))

    The triangle that Xie et al. plant, in figure 6, is of this kind.
    """

    size: int

    def __post_init__(self) -> None:
        whole("size of the triangle", self.size)

    def pixels(self, shape: tuple[int, ...]) -> tuple[Place, ...]:
        rows, columns = shape[-2:]
        if self.size > max(rows, columns):
            _require_inside([(rows - self.size, columns - 1)], shape)
        lines = ((rows - self.size + i, columns - 1 - i) for i in range(self.size))
        return _inside([(row, column) for row, left in lines for column in range(left, columns)], shape)


PATTERNS: dict[str, type[Pattern]] = {"pixels": Pixels, "square": Square, "triangle": Triangle}
"""The patterns that backdoors paint, by the names that experiment files use."""


def images(examples: Examples) -> Tensor:
    """The inputs, if they are images: [n, rows, columns] or [n, channels, rows, columns]."""
    wanted = "examples must be images of [rows, columns] or [channels, rows, columns], got"
    if isinstance(examples.x, Ragged):
        raise InvalidType(f"{wanted} sequences of different lengths")
    if not examples.x.is_floating_point():
        raise InvalidType(f"{wanted} {examples.x.dtype}")
    if examples.x.ndim not in (3, 4):
        raise InvalidValue(f"{wanted} shape {tuple(examples.x.shape[1:])}")
    return examples.x


def _index(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InvalidType(f"{name} must be a whole number, got {value!r}")


def _count_from_start(index: int, length: int) -> int:
    # One that is too far even from the end stays as it was written, for the error to name it.
    return index + length if -length <= index < 0 else index


def _require_inside(places: list[Place], shape: tuple[int, ...]) -> None:
    """Raises at the first pixel that lies outside the image."""
    rows, columns = shape[-2:]
    for row, column in places:
        if not (0 <= row < rows and 0 <= column < columns):
            raise InvalidValue(
                f"trigger must lie inside the image of {rows} x {columns} pixels, got one with a pixel at "
                f"row {row}, column {column}, counted from the top left"
            )


def _inside(places: list[Place], shape: tuple[int, ...]) -> tuple[Place, ...]:
    _require_inside(places, shape)
    ordered = sorted(places)
    for place, next_one in itertools.pairwise(ordered):
        if place == next_one:
            raise InvalidValue(f"pixels of a pattern must not repeat, got {place} twice")
    return tuple(ordered)
