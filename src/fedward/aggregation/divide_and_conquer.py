"""Divide and conquer (DnC): rows that stick out along the main direction of some coordinates are left out."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.aggregation.all_rows import combine_alone
from fedward.aggregation.rows import combine_columns, mean, scale_down, squared_distances
from fedward.base.validate import positive, whole
from fedward.core.types import Memory, Watched

# Squares of values up to 2 to this power have sums that fit into a double.
_SAFE_TO_SQUARE = 480


@dataclass(frozen=True, kw_only=True)
class DivideAndConquer:
    """The mean of the rows that are no outliers along the first principal direction, each time.

        repeat `times`: r <- random coordinates, at most b of them
          v = first right singular vector of the rows Δ_i[r] - μ[r],    s_i = ⟨v, Δ_i[r] - μ[r]⟩²
          G_t = the n - ⌊c f⌋ rows with the smallest s_i
        Δ = mean of the rows in all G_t

    The defaults of c, `times` and b are those of Blades; others draw coordinates five times. Of equal scores
    the earlier row stays. The paper does not say what happens where no row is in all G_t:
    then the rows that are in most of them are averaged.

    No guarantee of privacy: one user can change which rows are left out. It has no sensitivity and takes no
    noise.

    Args:
      malicious: f, how many bad rows a round may hold.
      filtered: c: for each of them so many rows are left out.
      times: how many times coordinates are drawn.
      coordinates: b: how many of them.

    >>> rows = [[0.0, 1.0], [1.0, 1.0], [0.5, 1.0], [900.0, 1.0]]
    >>> DivideAndConquer(malicious=1).combine([torch.tensor(row) for row in rows])
    tensor([0.5000, 1.0000], dtype=torch.float64)

    Shejwalkar, Houmansadr 2021, algorithm 2.
    """

    malicious: int
    filtered: float = 1.0
    times: int = 1
    coordinates: int = 10_000

    knows_users: ClassVar[bool] = False
    root_user: ClassVar[int | None] = None
    own_noise: ClassVar[str] = ""

    def __post_init__(self) -> None:
        whole("number of malicious rows", self.malicious, at_least=0)
        positive("rows left out for each malicious one", self.filtered)
        whole("number of times", self.times)
        whole("number of coordinates", self.coordinates)

    @property
    def left_out(self) -> int:
        """⌊c f⌋."""
        return math.floor(self.filtered * self.malicious)

    @property
    def least_rows(self) -> int:
        return self.left_out + 1

    def first_memory(self, parameters: Tensor) -> Memory:
        return ()

    def combine(self, rows: list[Tensor]) -> Tensor:
        return combine_alone(self, rows)

    def combine_watched(self, rows: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
        stayed: Counter[int] = Counter()
        for _ in range(self.times):
            scores = outlier_scores(self._drawn(rows, watched.rng))
            stayed.update(torch.argsort(scores, stable=True)[: len(rows) - self.left_out].tolist())
        most = max(stayed.values())
        good = sorted(row for row, times in stayed.items() if times == most)
        return combine_columns([rows[i] for i in good], mean), ()

    def _drawn(self, rows: list[Tensor], rng: np.random.Generator) -> list[Tensor]:
        size = len(rows[0])
        if size <= self.coordinates:
            return rows
        drawn = torch.from_numpy(np.sort(rng.choice(size, size=self.coordinates, replace=False)))
        return [row[drawn] for row in rows]


def outlier_scores(rows: list[Tensor]) -> Tensor:
    """s_i = ⟨v, Δ_i - μ⟩², v the first right singular vector of the centred rows.

    From the distances of all pairs, whose centred matrix -½ J D J is that of the inner products of the
    centred rows: s_i is its largest eigenvalue times the square of the eigenvector's i-th entry.
    """
    squared = squared_distances(scale_down(rows, _SAFE_TO_SQUARE)[0])[0]
    inner = (squared - squared.mean(0)[None, :] - squared.mean(1)[:, None] + squared.mean()) / -2
    values, vectors = torch.linalg.eigh(inner)
    scores: Tensor = values[-1].clamp(min=0) * vectors[:, -1].square()
    return scores
