"""Helpers of the rules that need all rows at once: blocks of columns, means, distances."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

# So many columns of all rows are worked on at a time: [n, d] is never copied to double precision as a whole.
# A reduction of so few values is never split between threads, so no result depends on their number.
_BLOCK = 1 << 13

# Values up to 2 to this power have sums of squares that fit into a double, in any number of dimensions.
_SAFE_TO_SQUARE = 480

Score = Callable[[Tensor], Tensor]
"""From squared distances [n, n] to one score for each row; the smaller the better."""


def combine_columns(rows: list[Tensor], combine: Callable[[Tensor], Tensor]) -> Tensor:
    """One vector from rows whose columns are combined apart; ``combine`` takes [n, c] in double precision."""
    return torch.cat([combine(block) for block in _blocks(rows)])


def mean(values: Tensor) -> Tensor:
    """The mean over the first dimension, summed in its order; finite if the values are.

    >>> mean(torch.tensor([[1.7e308], [1.5e308]], dtype=torch.float64))
    tensor([1.6000e+308], dtype=torch.float64)
    """
    # A power of two above their number makes room for the sum and takes nothing from its precision.
    room = 2.0 ** len(values).bit_length()
    total = torch.zeros_like(values[0])
    for value in values:
        total.add_(value, alpha=1 / room)
    return total.div_(len(values)).mul_(room)


def middle_of_sorted(ascending: Tensor) -> Tensor:
    """The median over the first dimension of sorted values: the mean of the two middle ones if they are even.

    >>> middle_of_sorted(torch.tensor([[1.0], [2.0], [4.0], [9.0]]))
    tensor([3.])
    """
    n = len(ascending)
    # Halved first: the sum of two huge values may overflow.
    return ascending[(n - 1) // 2] / 2 + ascending[n // 2] / 2


def squared_distances(rows: list[Tensor]) -> tuple[Tensor, ...]:
    """‖Δ_i - Δ_j‖² for all pairs, [n, n]; from differences, so that equal rows have exactly 0.

    Where double precision overflows (updates of float64 only) a second matrix follows, of the rows scaled
    down: it tells apart what is infinite in the first. ``rank_by_score`` reads both.
    """
    squared = _squared_distances(rows)
    if math.isfinite(float(squared.sum())):
        return (squared,)
    return squared, _squared_distances(scale_down(rows, _SAFE_TO_SQUARE)[0])


def rank_by_score(squared: tuple[Tensor, ...], score: Score) -> Tensor:
    """The places of the rows by ascending score; of equal ones the earlier row comes first."""
    order = torch.arange(len(squared[0]), device=squared[0].device)
    for matrix in reversed(squared):
        order = order[torch.argsort(score(matrix)[order], stable=True)]
    return order


def scale_down(rows: list[Tensor], exponent: int) -> tuple[list[Tensor], float]:
    """Rows without a value above 2**exponent, and the power of two that they were multiplied by for it."""
    largest = math.frexp(max(float(row.abs().max()) for row in rows))[1]
    if largest <= exponent:
        return rows, 1.0
    power = 2.0 ** (exponent - largest)
    return [row * power for row in rows], power


def _squared_distances(rows: list[Tensor]) -> Tensor:
    n = len(rows)
    squared = torch.zeros(n, n, dtype=torch.float64, device=rows[0].device)
    for block in _blocks(rows):
        for i in range(n - 1):
            squared[i, i + 1 :] += (block[i + 1 :] - block[i]).square_().sum(1)
    return squared + squared.T


def _blocks(rows: list[Tensor]) -> Iterator[Tensor]:
    for start in range(0, len(rows[0]), _BLOCK):
        yield torch.stack([row[start : start + _BLOCK] for row in rows]).double()
