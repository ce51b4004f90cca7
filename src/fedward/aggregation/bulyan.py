"""Bulyan: rows selected by Krum, then a trimmed mean around the median of every coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from fedward.aggregation.column_blocks import sorted_columns
from fedward.aggregation.krum import krum_scores
from fedward.aggregation.rows import combine_columns, mean, middle_of_sorted, rank_by_score, squared_distances
from fedward.base.validate import whole


@dataclass(frozen=True, kw_only=True)
class Bulyan:
    """Krum picks θ = n - 2f rows one after the other; of each coordinate the β = θ - 2f values nearest to the
    median of the picked rows are averaged.

        picked ← picked ∪ {Krum(rows not picked)},    θ times
        Δ[j] = (1 / β) Σ_{i among the β smallest |Δ_i[j] - median[j]|} Δ_i[j],    over the picked rows

    Scores are computed anew among the r rows that are left, with r - f - 2 neighbours as in ``Krum``, also
    when r has fallen below 2f + 3, but with at least 1 (it matters at the last pick with f = 1). Of equal
    scores the earliest row wins (with one neighbour two rows nearest to each other always are equal); of two
    values equally near to the median the smaller. f = 0 is the mean of the rows that came.

    With at most f bad rows of n ≥ 4f + 3 every value that is averaged is as near to the median as some honest
    value, and that median lies between two honest values: hiding a large change in few coordinates, which
    Krum's distances do not see, does not help.

    No guarantee of privacy: one user can change which rows are picked, and no useful bound on what that does
    is proven. It has no sensitivity and takes no noise.

    Args:
      malicious: f, how many bad rows a round may hold.

    >>> rows = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [900.0]]
    >>> Bulyan(malicious=1).combine([torch.tensor(row) for row in rows])
    tensor([3.], dtype=torch.float64)

    El Mhamdi, Guerraoui, Rouault 2018.
    """

    malicious: int

    def __post_init__(self) -> None:
        whole("number of malicious rows", self.malicious, at_least=0)

    @property
    def least_rows(self) -> int:
        return 4 * self.malicious + 3

    def combine(self, rows: list[Tensor]) -> Tensor:
        picked = self._pick(squared_distances(rows))
        nearest = len(picked) - 2 * self.malicious
        chosen = [rows[i] for i in picked]
        return combine_columns(chosen, lambda block: _around_median(block, nearest), double=False)

    def _pick(self, squared: tuple[Tensor, ...]) -> list[int]:
        picked: list[int] = []
        left = list(range(len(squared[0])))
        while len(picked) < len(squared[0]) - 2 * self.malicious:
            among = tuple(matrix[left][:, left] for matrix in squared)
            scores = partial(krum_scores, neighbours=max(1, len(left) - self.malicious - 2))
            picked.append(left.pop(int(rank_by_score(among, scores)[0])))
        return picked


def _around_median(block: Tensor, nearest: int) -> Tensor:
    ascending = sorted_columns(block)
    # Halved: the distance of two huge values may overflow.
    distance = (ascending / 2 - middle_of_sorted(ascending) / 2).abs()
    # The nearest values lie side by side: from all of them the farther end is dropped, and the larger of two
    # that are equally far.
    low = torch.zeros(1, ascending.shape[1], dtype=torch.int64)
    high = torch.full_like(low, len(ascending) - 1)
    for _ in range(len(ascending) - nearest):
        drop_low = distance.gather(0, low) > distance.gather(0, high)
        low, high = low + drop_low.long(), high - (~drop_low).long()
    return mean(ascending.gather(0, low + torch.arange(nearest)[:, None]))
