"""Multi-Krum: the mean of the rows that Krum likes best."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from torch import Tensor

from fedward.aggregation.krum import krum_scores
from fedward.aggregation.rows import combine_columns, mean, rank_by_score, squared_distances
from fedward.base.validate import whole


@dataclass(frozen=True, kw_only=True)
class MultiKrum:
    """The mean of the m rows with the smallest scores of Krum.

        Δ = (1 / m) Σ_{i among the m smallest s_i} Δ_i,    s_i as in ``Krum``

    Of equal scores the earlier row comes first. m = 1 is Krum, m = n the plain mean. With at most f bad rows
    of n ≥ 2f + 3, and m ≤ n - f, a row far away from all honest rows is never taken. The default n - f is as
    many rows as are honest at least. Implementations differ: n - f - 2 is the other common choice, and the
    most for which resilience was proven (later than the rule was published).

    No guarantee of privacy: one user can change which rows are taken, and no useful bound on what that does
    is proven. It has no sensitivity and takes no noise.

    Args:
      malicious: f, how many bad rows a round may hold.
      selected: m; n - f of the n rows of each round if not given.

    >>> import torch
    >>> rows = [[0.0], [1.0], [4.0], [2.0], [900.0]]
    >>> MultiKrum(malicious=1, selected=3).combine([torch.tensor(row) for row in rows])
    tensor([1.], dtype=torch.float64)

    Blanchard, El Mhamdi, Guerraoui, Stainer 2017; El Mhamdi, Guerraoui, Rouault 2019 for n - f - 2.
    """

    malicious: int
    selected: int | None = None

    def __post_init__(self) -> None:
        whole("number of malicious rows", self.malicious, at_least=0)
        if self.selected is not None:
            whole("number of selected rows", self.selected)

    @property
    def least_rows(self) -> int:
        return max(2 * self.malicious + 3, self.selected or 0)

    def combine(self, rows: list[Tensor]) -> Tensor:
        scores = partial(krum_scores, neighbours=len(rows) - self.malicious - 2)
        selected = self.selected or len(rows) - self.malicious
        taken = rank_by_score(squared_distances(rows), scores)[:selected].tolist()
        return combine_columns([rows[i] for i in taken], mean)
