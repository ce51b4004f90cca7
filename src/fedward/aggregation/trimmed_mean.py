"""The mean of every coordinate without its extremes."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedward.aggregation.column_blocks import sorted_columns
from fedward.aggregation.rows import combine_columns, mean
from fedward.base.validate import whole


@dataclass(frozen=True, kw_only=True)
class TrimmedMean:
    """Each coordinate's mean without its b smallest and its b largest values.

        Δ[j] = (1 / (n - 2b)) Σ_{b < k ≤ n - b} Δ_(k)[j],    Δ_(k)[j] the k-th smallest, n ≥ 2b + 1

    While at most b rows are bad every coordinate lies between two honest values. b = 0 is the mean of the
    rows that came.

    No guarantee of privacy: one user can change which values are cut off in every coordinate, and no useful
    bound on what that does is proven. It has no sensitivity and takes no noise.

    Args:
      trimmed: b, a number of rows and not a share of them.

    >>> import torch
    >>> rows = [[0.0], [1.0], [3.0], [2.0], [900.0]]
    >>> TrimmedMean(trimmed=1).combine([torch.tensor(row) for row in rows])
    tensor([2.], dtype=torch.float64)

    Yin, Chen, Ramchandran, Bartlett 2018.
    """

    trimmed: int

    def __post_init__(self) -> None:
        whole("number of trimmed rows", self.trimmed, at_least=0)

    @property
    def least_rows(self) -> int:
        return 2 * self.trimmed + 1

    def combine(self, rows: list[Tensor]) -> Tensor:
        if self.trimmed == 0:
            return combine_columns(rows, mean)
        kept = slice(self.trimmed, len(rows) - self.trimmed)
        return combine_columns(rows, lambda block: mean(sorted_columns(block)[kept]), double=False)
