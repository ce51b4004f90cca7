"""SignGuard: rows of unlikely length, or with other signs than most, are left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.aggregation.all_rows import combine_alone
from fedward.aggregation.mean_shift import largest_cluster
from fedward.aggregation.rows import middle_of_sorted, row_norms, weighted_sum
from fedward.base.validate import InvalidValue, non_negative, positive, rate
from fedward.core.types import Memory, Watched


@dataclass(frozen=True, kw_only=True)
class SignGuard:
    """The mean of rows, clipped to the median norm, that pass a filter of norms and one of signs.

        M = median_i ‖Δ_i‖,    S_1 = {i : L ≤ ‖Δ_i‖ / M ≤ R}
        x_i = shares of positive, zero and negative values among a random part of the coordinates
        S_2 = the largest cluster of the x_i (mean shift)
        Δ = (1 / |S|) Σ_{i in S} Δ_i min(1, M / ‖Δ_i‖),    S = S_1 ∩ S_2

    The bandwidth of the mean shift is the mean, over the x_i, of the distance within which half of them lie.
    Where S is empty the model stays. This is the paper's plain variant: those that add a similarity to the
    features are left out.

    Done differently than in the authors' code: that takes a stretch of neighbouring coordinates, divides each
    share by the largest among the rows, and lets rows that reach no cluster be in none. Here coordinates are
    drawn one by one, shares stay as they are, and every row belongs to the nearest cluster.

    No guarantee of privacy: one user can change who is left out. It has no sensitivity and takes no noise.

    Args:
      lower: L.
      upper: R.
      share: of the coordinates, whose signs are looked at.

    >>> rows = [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [-900.0, -1.0]]
    >>> SignGuard(share=1.0).combine([torch.tensor(row) for row in rows])
    tensor([1.3333, 1.3333], dtype=torch.float64)

    Xu, Huang, Song, Lan 2022.
    """

    lower: float = 0.1
    upper: float = 3.0
    share: float = 0.1

    least_rows: ClassVar[int] = 1
    knows_users: ClassVar[bool] = False
    root_user: ClassVar[int | None] = None
    own_noise: ClassVar[str] = ""

    def __post_init__(self) -> None:
        non_negative("lower limit of norms", self.lower)
        positive("upper limit of norms", self.upper)
        if self.upper < self.lower:
            raise InvalidValue(
                f"upper limit of norms must be at least the lower one, {self.lower}, got {self.upper}"
            )
        rate("share of the coordinates", self.share)

    def first_memory(self, parameters: Tensor) -> Memory:
        return ()

    def combine(self, rows: list[Tensor]) -> Tensor:
        return combine_alone(self, rows)

    def combine_watched(self, rows: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
        norms = torch.tensor(row_norms(rows), dtype=torch.float64)
        median = float(middle_of_sorted(norms.sort().values))
        likely = (norms >= self.lower * median) & (norms <= self.upper * median)
        like_most = largest_cluster(self._signs(rows, watched.rng))
        good = [i for i in like_most if bool(likely[i])]
        if not good:
            return torch.zeros_like(rows[0], dtype=torch.float64), ()
        shares = [min(1.0, median / float(norms[i])) if norms[i] > 0 else 1.0 for i in good]
        return weighted_sum([rows[i] for i in good], [share / len(good) for share in shares]), ()

    def _signs(self, rows: list[Tensor], rng: np.random.Generator) -> Tensor:
        """The shares of positive, zero and negative values of each row, [n, 3]."""
        size = len(rows[0])
        count = max(1, math.ceil(self.share * size))
        drawn = torch.from_numpy(np.sort(rng.choice(size, size=count, replace=False)))
        features = []
        for row in rows:
            values = row[drawn].numpy()
            above, below = np.count_nonzero(values > 0), np.count_nonzero(values < 0)
            features.append([above / count, (count - above - below) / count, below / count])
        return torch.tensor(features, dtype=torch.float64)
