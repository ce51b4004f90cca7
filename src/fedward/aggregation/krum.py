"""Krum: the one row that is nearest to its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from fedward.aggregation.rows import rank_by_score, squared_distances
from fedward.base.validate import whole


@dataclass(frozen=True, kw_only=True)
class Krum:
    """The row with the smallest sum of squared distances to its n - f - 2 nearest others.

        s_i = Σ_{j among the n - f - 2 nearest of i} ‖Δ_i - Δ_j‖²,    Δ = Δ_{argmin_i s_i}

    Of equal scores the earliest row wins. With at most f bad rows of n ≥ 2f + 3 the winner has honest rows
    among its neighbours: one far away from all honest rows is never taken. Bad rows that lie near an honest
    one, and nearer to each other than honest rows do, can win.

    No guarantee of privacy: one user can change which row wins, so that the result jumps as far as updates
    are apart, and no useful bound on that is proven. It has no sensitivity and takes no noise.

    Args:
      malicious: f, how many bad rows a round may hold.

    >>> krum = Krum(malicious=1)
    >>> rows = [[0.0], [1.0], [3.0], [1.5], [900.0]]
    >>> krum.combine([torch.tensor(row) for row in rows])
    tensor([1.], dtype=torch.float64)

    Blanchard, El Mhamdi, Guerraoui, Stainer 2017; compared in Miao et al.
    """

    malicious: int

    def __post_init__(self) -> None:
        whole("number of malicious rows", self.malicious, at_least=0)

    @property
    def least_rows(self) -> int:
        return 2 * self.malicious + 3

    def combine(self, rows: list[Tensor]) -> Tensor:
        scores = partial(krum_scores, neighbours=len(rows) - self.malicious - 2)
        winner = int(rank_by_score(squared_distances(rows), scores)[0])
        return rows[winner].double()


def krum_scores(squared: Tensor, neighbours: int) -> Tensor:
    """For each row the sum of its ``neighbours`` smallest squared distances to others."""
    others = squared.clone().fill_diagonal_(torch.inf)
    return others.sort(1).values[:, :neighbours].sum(1)
