"""Squared distances of all pairs of rows, from inner products where those are exact enough."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fedward.aggregation.column_blocks import of_blocks

# A pair nearer than this share of its squared lengths is computed from differences: inner products would have
# lost three digits and more.
_NEAR = 1e-3


def pair_distances(
    rows: list[Tensor], scales: list[float] | None = None, shift: Tensor | None = None
) -> Tensor:
    """‖s_i Δ_i - s_j Δ_j‖² for all pairs, [n, n], in double precision; all s are 1 if not given.

    A shift is added to every row first.

        ‖a - b‖² = ‖a‖² + ‖b‖² - 2 ⟨a, b⟩,    of the rows, or of their differences from the first

    Guarantee: rows that are equal (and have equal s) are at exactly 0 from each other, and exactly as far as
    each other from any third. Where it overflows it is infinite.

    >>> pair_distances([torch.tensor([0.0, 3.0]), torch.tensor([4.0, 0.0])]).tolist()
    [[0.0, 25.0], [25.0, 0.0]]
    """
    n = len(rows)
    factors = torch.tensor(scales or [1.0] * n, dtype=torch.float64)[:, None]
    for centred in (False, True):
        squared, near = _from_inner_products(rows, factors, centred, shift)
        if len(near) <= 5 * n:
            break
    else:
        return _from_differences(rows, factors, shift)
    for i, j in near:
        squared[i, j] = _from_differences([rows[i], rows[j]], factors[[i, j]], shift)[0, 1]
    squared = squared + squared.T
    for i, j in near:  # inner products of equal rows may differ in their last bits
        if squared[i, j] == 0:
            squared[j], squared[:, j] = squared[i].clone(), squared[:, i].clone()
            squared[j, j] = 0
    return squared


def _from_inner_products(
    rows: list[Tensor], factors: Tensor, centred: bool, shift: Tensor | None
) -> tuple[Tensor, list[tuple[int, int]]]:
    """The distances above the diagonal, and the pairs for which they have too few digits."""

    def block_products(block: Tensor) -> Tensor:
        block = block * factors
        if centred:
            block = block - block[0]
        return block @ block.T

    inner = torch.stack(of_blocks(rows, block_products, shift=shift)).sum(0)
    both = inner.diagonal()[:, None] + inner.diagonal()[None, :]
    squared = torch.triu(both - 2 * inner, diagonal=1)
    near = torch.triu(~(squared > _NEAR * both), diagonal=1)  # what is not a number is near as well
    return squared, [(i, j) for i, j in near.nonzero().tolist()]


def _from_differences(rows: list[Tensor], factors: Tensor, shift: Tensor | None) -> Tensor:
    n = len(rows)

    def block_distances(block: Tensor) -> Tensor:
        block = block * factors
        squared = torch.zeros(n, n, dtype=torch.float64)
        for i in range(n - 1):
            squared[i, i + 1 :] = (block[i + 1 :] - block[i]).square_().sum(1)
        return squared

    squared = torch.stack(of_blocks(rows, block_distances, shift=shift)).sum(0)
    return squared + squared.T


def overflows(squared: Tensor) -> bool:
    """Whether some distance was too large for a double."""
    return not math.isfinite(float(squared.sum()))
