"""Helpers of the rules that need all rows at once: blocks of columns, means, distances."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from fedward.aggregation.column_blocks import of_blocks
from fedward.aggregation.pair_distances import overflows, pair_distances
from fedward.clipping.norms import l2_norm

# Values up to 2 to this power have sums of squares that fit into a double, in any number of dimensions.
_SAFE_TO_SQUARE = 480

# A sum of squares below this may have lost some of them.
_TINY = 1e-280

Score = Callable[[Tensor], Tensor]
"""From squared distances [n, n] to one score for each row; the smaller the better."""


def combine_columns(
    rows: list[Tensor], combine: Callable[[Tensor], Tensor], *, double: bool = True
) -> Tensor:
    """One vector from rows whose columns are combined apart; ``combine`` takes [n, c] in double precision,
    or as the rows are."""
    return torch.cat(of_blocks(rows, combine, double=double))


def weighted_sum(rows: list[Tensor], weights: list[float]) -> Tensor:
    """Σ_i w_i Δ_i, in double precision.

    >>> weighted_sum([torch.tensor([1.0, 2.0]), torch.tensor([4.0, 0.0])], [1.0, 0.5])
    tensor([3., 2.], dtype=torch.float64)
    """
    row = torch.tensor([weights], dtype=torch.float64)
    return combine_columns(rows, lambda block: (row @ block)[0])


def weighted_sums(rows: list[Tensor], weights: Tensor) -> list[Tensor]:
    """Σ_i w_ki Δ_i for each row of weights, in double precision.

    >>> weighted_sums([torch.tensor([1.0]), torch.tensor([4.0])], torch.tensor([[0.5, 0.5]]).double())
    [tensor([2.5000], dtype=torch.float64)]
    """
    sums = torch.empty(len(weights), len(rows[0]), dtype=torch.float64)
    of_blocks(rows, lambda block: weights @ block, into=sums)
    return list(sums)


def row_norms(rows: list[Tensor], shift: Tensor | None = None) -> list[float]:
    """The length of each row, plus a shift, in double precision; huge and tiny rows have one, too.

    >>> row_norms([torch.tensor([3.0, 4.0]), torch.tensor([0.0, 0.0])])
    [5.0, 0.0]
    """
    blocks = of_blocks(rows, lambda block: (block * block).sum(1), shift=shift)
    squares = torch.stack(blocks).sum(0).tolist()
    return [
        math.sqrt(square)
        if _TINY < square < math.inf
        else l2_norm(row if shift is None else row.double() + shift)
        for row, square in zip(rows, squares, strict=True)
    ]


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
    """‖Δ_i - Δ_j‖² for all pairs, [n, n]; equal rows have exactly 0.

    Where double precision overflows (updates of float64 only) a second matrix follows, of the rows scaled
    down: it tells apart what is infinite in the first. ``rank_by_score`` reads both.
    """
    squared = pair_distances(rows)
    if not overflows(squared):
        return (squared,)
    return squared, pair_distances(scale_down(rows, _SAFE_TO_SQUARE)[0])


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
