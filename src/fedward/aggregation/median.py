"""The median of every coordinate."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedward.aggregation.column_blocks import sorted_columns
from fedward.aggregation.rows import combine_columns, middle_of_sorted


@dataclass(frozen=True, kw_only=True)
class CoordinateMedian:
    """Each coordinate's median; of an even number of rows the mean of the two middle values.

        Δ[j] = median_i Δ_i[j]

    While less than half of the rows are bad every coordinate lies between two honest values. The vector as a
    whole need not be like any honest one.

    No guarantee of privacy: one user can move every coordinate to its next value, and no useful bound on how
    far that is has been proven. It has no sensitivity and takes no noise.

    >>> import torch
    >>> rows = [[0.0, 5.0], [1.0, -1.0], [900.0, 0.0]]
    >>> CoordinateMedian().combine([torch.tensor(row) for row in rows])
    tensor([1., 0.], dtype=torch.float64)

    Yin, Chen, Ramchandran, Bartlett 2018; compared in Miao et al.
    """

    least_rows = 1

    def combine(self, rows: list[Tensor]) -> Tensor:
        return combine_columns(rows, lambda block: middle_of_sorted(sorted_columns(block)), double=False)
