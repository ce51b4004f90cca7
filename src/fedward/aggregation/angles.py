"""Angles between rows: unit vectors, cosines, and cosine distances of all pairs."""

from __future__ import annotations

import torch
from torch import Tensor

from fedward.aggregation.column_blocks import of_blocks
from fedward.aggregation.pair_distances import pair_distances
from fedward.aggregation.rows import row_norms
from fedward.clipping.norms import l2_norm

# Squares of lengths between this and its inverse neither overflow nor vanish.
_SMALL = 1e-100


def unit(row: Tensor) -> Tensor:
    """The row at length 1, in double precision; zeros stay zeros.

    >>> unit(torch.tensor([3.0, 4.0]))
    tensor([0.6000, 0.8000], dtype=torch.float64)
    """
    row = row.double()
    largest = float(row.abs().max())
    if largest == 0:
        return torch.zeros_like(row)
    row = row / largest  # the norm of huge numbers may overflow
    return row / l2_norm(row)


def directions(rows: list[Tensor]) -> tuple[list[Tensor], list[float]]:
    """Rows and lengths by which they must be divided to be of length 1; zeros have the length 1.

    The rows are those that came, or unit vectors where their squares would overflow or vanish.
    """
    norms = row_norms(rows)
    if all(map(_squares_well, norms)):
        return rows, [norm or 1.0 for norm in norms]
    return [unit(row) for row in rows], [1.0] * len(rows)


def cosines(rows: list[Tensor], other: Tensor) -> list[float]:
    """The cosines of the angles between each row and another one; 0 where one of them is zero.

    >>> cosines([torch.tensor([2.0, 0.0]), torch.tensor([0.0, 0.0])], torch.tensor([3.0, 4.0]))
    [0.6, 0.0]
    """
    turned, lengths = directions([*rows, other])
    along = torch.stack(of_blocks(turned, lambda block: block @ block[-1])).sum(0).tolist()
    return [inner / length / lengths[-1] for inner, length in zip(along[:-1], lengths[:-1], strict=True)]


def cosine_distances(rows: list[Tensor], shift: Tensor | None = None) -> Tensor:
    """1 - cos of the angle of all pairs, [n, n]; zeros are at distance 1 from other rows, at 0 from zeros.

    From distances of unit vectors, so that rows of equal direction have (nearly) 0. A shift is added to every
    row first.

    >>> cosine_distances([torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])])[0].tolist()
    [0.0, 1.0]
    """
    norms = row_norms(rows, shift)
    if all(map(_squares_well, norms)):
        distances = pair_distances(rows, [1 / (norm or 1.0) for norm in norms], shift) / 2
    else:
        distances = pair_distances([unit(row if shift is None else row.double() + shift) for row in rows]) / 2
    zero = torch.tensor([norm == 0 for norm in norms])
    distances[zero[:, None] != zero[None, :]] = 1.0
    return distances


def _squares_well(norm: float) -> bool:
    return norm == 0 or _SMALL < norm < 1 / _SMALL
