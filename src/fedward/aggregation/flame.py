"""FLAME: one cluster of like-minded rows, clipped to the median norm, averaged, with some noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from fedward.aggregation.all_rows import combine_alone
from fedward.aggregation.angles import cosine_distances
from fedward.aggregation.rows import middle_of_sorted, row_norms, weighted_sum
from fedward.base.validate import non_negative, one_of
from fedward.core.types import Memory, Watched

Compared = Literal["models", "updates"]

NO_EPSILON = (
    "the noise of FLAME follows a choice of users and a median of norms that look at everybody's update "
    "without protection, so no ε is proven for it"
)


@dataclass(frozen=True, kw_only=True)
class Flame:
    """The rows of one majority that points the same way, clipped to the median norm and averaged; then noise.

        L = the majority cluster of the n rows by cosine distance
        S = median_i ‖Δ_i‖ over all n rows,    Δ = (1/|L|) Σ_{i in L} Δ_i min(1, S / ‖Δ_i‖) + N(0, (λS)² I)

    The cluster is that of HDBSCAN with clusters of at least ⌊n/2⌋ + 1 rows and one neighbour: of two parts of
    a set of n rows at most one can be so large, so no cluster is ever split in two, and what HDBSCAN keeps is
    the group that single linkage joins first to ⌊n/2⌋ + 1 rows or more. It is computed so.

    **No ε.** The paper speaks of differential privacy; its noise is added to a mean over users that were
    chosen by looking at all of them, at a scale that is a median of private norms. No proof covers that, so
    fedward prints "no guarantee" and says why.

    Args:
      noise: λ, the noise for each unit of the median norm; 0 for none.
      compared: whether the angles are those of the users' `models` w + Δ_i, as in the paper, or of their
        `updates` Δ_i. Models differ little from each other by angle.

    >>> rows = [[1.0, 0.0], [1.0, 0.1], [0.9, 0.0], [-5.0, 1.0]]
    >>> Flame(noise=0.0, compared="updates").combine([torch.tensor(row) for row in rows])
    tensor([0.9658, 0.0333], dtype=torch.float64)

    Nguyen et al. 2022, algorithm 1.
    """

    noise: float = 0.001
    compared: Compared = "models"

    least_rows: ClassVar[int] = 1
    knows_users: ClassVar[bool] = False
    root_user: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        non_negative("noise", self.noise)
        one_of("compared", self.compared, get_args(Compared))

    @property
    def own_noise(self) -> str:
        return NO_EPSILON if self.noise > 0 else ""

    def first_memory(self, parameters: Tensor) -> Memory:
        return ()

    def combine(self, rows: list[Tensor]) -> Tensor:
        return combine_alone(self, rows)

    def combine_watched(self, rows: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
        shift = watched.parameters.double() if self.compared == "models" else None
        admitted = majority_cluster(cosine_distances(rows, shift))
        norms = torch.tensor(row_norms(rows), dtype=torch.float64)
        bound = float(middle_of_sorted(norms.sort().values))
        shares = [min(1.0, bound / float(norms[i])) if norms[i] > 0 else 1.0 for i in admitted]
        result = weighted_sum([rows[i] for i in admitted], [share / len(admitted) for share in shares])
        if self.noise > 0:
            result += self.noise * bound * _normal(len(result), watched.rng)
        return result, ()


def majority_cluster(distances: Tensor) -> list[int]:
    """The group that single linkage first joins to more than half of the points, ascending.

    Edges are taken from short to long; of equal ones those between earlier points come first.

    >>> majority_cluster(torch.tensor([[0.0, 1.0, 9.0], [1.0, 0.0, 8.0], [9.0, 8.0, 0.0]]))
    [0, 1]
    """
    n = len(distances)
    group = list(range(n))
    members = {i: [i] for i in range(n)}
    if n == 1:
        return [0]
    upper = torch.triu_indices(n, n, offset=1)
    lengths = distances[upper[0], upper[1]]
    order = torch.argsort(lengths, stable=True).tolist()
    pairs = upper.T.tolist()
    for place, edge in enumerate(order):
        one, other = sorted(group[i] for i in pairs[edge])
        if one != other:
            for i in members[other]:
                group[i] = one
            members[one] += members.pop(other)
        # All edges of one length are one step: points that are equally near come together.
        last = place + 1 == len(order) or float(lengths[order[place + 1]]) > float(lengths[edge])
        large = max(members.values(), key=len)
        if last and len(large) > n // 2:
            return sorted(large)
    raise AssertionError("all points are joined in the end")


def _normal(size: int, rng: np.random.Generator) -> Tensor:
    return torch.from_numpy(rng.standard_normal(size))
