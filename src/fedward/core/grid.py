"""The grid of exact noise: rows are cut to it before they are added up, so that sums have no rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from fedward.base.validate import InvalidValue
from fedward.core.pieces import pieces

# The largest row has less than 2^26 units and a sum of 2^24 rows less than 2^50: both are exact in a double,
# and so is every sum of squares of one row.
_ROW_BITS, _USERS_BITS = 26, 24
MOST_USERS = 1 << _USERS_BITS
_MOST_SQUARES = 2.0 ** (2 * _ROW_BITS + 1)
_SUM = 2.0 ** (_ROW_BITS + _USERS_BITS)
# Three roundings of 2^-53 each, relative.
_ROUNDINGS = 3.5 * 2.0**-53
# Bounds for which no power of two below leaves the range of floats.
_LEAST_BOUND, _MOST_BOUND = 1e-250, 1e250
# A row that is too long after all is made this much shorter.
_SHORTER = 1.0 - 2.0**-20


@dataclass(frozen=True, kw_only=True)
class Grid:
    """All multiples of a power of two.

    Args:
      spacing: the power of two.
      bound: S, what a row's norm cannot exceed; less than 2^26 spacings.

    >>> grid = Grid(spacing=0.25, bound=1.0)
    >>> grid.cut(torch.tensor([0.6, -0.74]))
    tensor([ 0.5000, -0.5000])
    """

    spacing: float
    bound: float

    def __post_init__(self) -> None:
        if not (self.spacing > 0 and math.frexp(self.spacing)[0] == 0.5):
            raise InvalidValue(f"spacing of a grid must be a power of two, got {self.spacing}")
        if not 0 < self.bound < self.spacing * 2.0**_ROW_BITS:
            raise InvalidValue(
                f"bound of rows on a grid must be above 0 and below 2^{_ROW_BITS} spacings of "
                f"{self.spacing:g}, got {self.bound}"
            )

    @classmethod
    def for_bound(cls, bound: float, coarsest: float = 0.0) -> Grid:
        """The finest grid for rows of norm at most ``bound`` with a spacing of at least ``coarsest``."""
        if not _LEAST_BOUND <= bound <= _MOST_BOUND:
            raise InvalidValue(
                f"clip bound must be from {_LEAST_BOUND:g} to {_MOST_BOUND:g} for exact noise, got {bound}"
            )
        fine = math.ldexp(1.0, math.frexp(bound)[1] - _ROW_BITS)
        return cls(
            spacing=max(fine, math.ldexp(1.0, math.frexp(coarsest)[1]) if coarsest > 0 else 0.0), bound=bound
        )

    def cut(self, row: Tensor) -> Tensor:
        """The row with every coordinate rounded towards zero, to a multiple of the spacing.

        Guarantee: its norm is at most the bound, exactly. No coordinate grows, so rounding costs nothing in
        sensitivity; and the sum of squares is computed without rounding and compared with (S / spacing)², so
        that a norm that was rounded down when the row was clipped is found. Such a row is made a
        millionth shorter; what is too long even so is nobody's clipped row, and becomes zero.
        """
        cut = torch.empty_like(row)
        for shorter in (1.0, _SHORTER):
            squares = sum(self._cut(numbers, place, shorter) for numbers, place in pieces(row, cut))
            # They are whole and below 2^53 together, unless they are too many anyhow.
            if squares < _MOST_SQUARES and Fraction(squares) <= self._most:
                return cut
        return cut.zero_()

    def _cut(self, row: Tensor, place: Tensor, shorter: float) -> float:
        """The sum of squares, in units, of what it puts there."""
        if shorter != 1.0:
            row = (row.double() * shorter).to(row.dtype)
        units = torch.trunc(row.double() / self.spacing)
        place.copy_(units * self.spacing)
        return float(units.square().sum())

    @property
    def _most(self) -> Fraction:
        return (Fraction(self.bound) / Fraction(self.spacing)) ** 2

    def units(self, aggregate: Tensor, share: float) -> Tensor:
        """The sum of rows on the grid in units of the spacing, as int64, from what it is divided to.

        Guarantee: exact. With at most 2^50 units the aggregate, the share and the quotient are off by three
        roundings of 2^-53 each, less than half a unit. What lies further from a whole number is no sum of
        such rows, and refused.

        Args:
          aggregate: the sum times ``share``, each rounded.
        """
        units = torch.empty_like(aggregate, dtype=torch.int64)
        for whole, sums in pieces(units, aggregate):
            quotient = sums.double() / (share * self.spacing)
            nearest = torch.round(quotient)
            near = (quotient - nearest).abs() <= nearest.abs() * _ROUNDINGS
            if not bool(near.all()) or bool((nearest.abs() > _SUM).any()):
                raise InvalidValue(
                    "exact noise needs the sum of at most 2^24 rows over a constant, kept in double "
                    "precision, got an aggregate that lies beside its grid"
                )
            whole.copy_(nearest)
        return units

    def floats(self, units: Tensor, share: float, like: Tensor) -> Tensor:
        """What is released, as floats: computed from whole numbers that are private already."""
        released = torch.empty_like(like)
        for place, whole in pieces(released, units):
            place.copy_(whole.double() * self.spacing * share)
        return released


@runtime_checkable
class ExactMechanism(Protocol):
    """A mechanism whose noise is drawn on a grid: no floating point lies between it and its proof."""

    @property
    def exact(self) -> bool:
        """Whether it is: the same mechanism may draw seeded noise in floating point."""

    def grid(self, bound: float) -> Grid:
        """The grid for rows of norm at most ``bound``. Asked only where it is exact."""
