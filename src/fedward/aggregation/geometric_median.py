"""The geometric median: the point nearest to all rows together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.aggregation.column_blocks import of_blocks
from fedward.aggregation.rows import rank_by_score, scale_down, squared_distances, weighted_sum
from fedward.base.validate import open_unit, whole
from fedward.clipping.norms import l2_norm

# Differences of values up to 2 to this power, and their norms, fit into a double.
_SAFE_TO_SUBTRACT = 900

# Squared distances none of which is smaller than this share of another keep half of their digits in sums.
_EVEN = 1e-8


@dataclass(frozen=True, kw_only=True)
class GeometricMedian:
    """The point with the smallest sum of distances to the rows, by Weiszfeld's iteration.

        Δ = argmin_y F(y),    F(y) = Σ_i ‖Δ_i - y‖
        y ← y + max(0, 1 - η / ‖R‖) R / Σ_{Δ_i ≠ y} ‖Δ_i - y‖⁻¹,    R = Σ_{Δ_i ≠ y} (Δ_i - y) / ‖Δ_i - y‖

    η is how many rows equal y: with it (Vardi and Zhang) a step from a row is as right as any other. The
    start is the row with the smallest F as far as double precision can tell, the earliest of equal ones. If
    that is the median it is returned as it is; if not, no row is, and F falls from there. It stops when
    (‖R‖ - η) / n ≤ tolerance, which by convexity proves F(y) - min F ≤ 2 · tolerance · F(y), or after
    ``most_steps`` with what it has. Where the median is not unique (an even number of rows on a line) it is
    one of the rows.

    While less than half of the rows are bad it stays within a bounded distance of the honest ones, wherever
    the bad ones are.

    No guarantee of privacy: how far one user can move it depends on how all other rows lie, and no useful
    bound on that is proven. It has no sensitivity and takes no noise.

    Args:
      tolerance: how long the mean of the unit vectors towards the rows may be.
      most_steps: after so many steps it stops anyway. Ten are the rule. Two far clusters of equal size take
        thousands: between them F is nearly flat.

    >>> rows = [[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, 900.0]]
    >>> GeometricMedian().combine([torch.tensor(row) for row in rows])
    tensor([1., 1.], dtype=torch.float64)

    Weiszfeld 1937; Vardi and Zhang 2000; Pillutla, Kakade, Harchaoui 2019 (RFA).
    """

    tolerance: float = 1e-6
    most_steps: int = 500

    least_rows = 1

    def __post_init__(self) -> None:
        open_unit("tolerance", self.tolerance)
        whole("most steps", self.most_steps)

    def combine(self, rows: list[Tensor]) -> Tensor:
        rows, power = scale_down(rows, _SAFE_TO_SUBTRACT)
        squared = squared_distances(rows)
        start = int(rank_by_score(squared, lambda matrix: matrix.sqrt().sum(1))[0])
        point, taken = rows[start].double(), 0
        if _even_enough(squared):
            shares, taken = self._walk(squared[0], start)
            if taken > 0:
                point = weighted_sum(rows, shares.tolist())
        for _ in range(self.most_steps - taken):
            step = self._step(rows, point)
            if step is None:
                break
            point = point + step
        return point / power

    def _step(self, rows: list[Tensor], point: Tensor) -> Tensor | None:
        """The step from ``point``; None if it is near enough to the median."""
        distances = _distances(rows, point)
        pulls = torch.where(distances > 0, 1 / distances, torch.zeros_like(distances))
        here = len(rows) - int((distances > 0).sum())
        pull = torch.cat(of_blocks([*rows, point], lambda block: pulls @ (block[:-1] - block[-1])))
        strength = l2_norm(pull)
        if strength - here <= self.tolerance * len(rows):
            return None
        return pull * ((1 - here / strength) / float(pulls.sum()))

    def _walk(self, squared: Tensor, start: int) -> tuple[Tensor, int]:
        """The shares c of the rows in y = Σ c_i Δ_i after the same steps, and how many these were.

        The shares add up to 1, and for u that add up to 0 it is ‖Σ u_i Δ_i‖² = -½ uᵀ D u with the squared
        distances D: no step looks at the rows themselves.
        """
        shares = torch.zeros(len(squared), dtype=torch.float64)
        shares[start] = 1.0
        for taken in range(self.most_steps):
            distances = _lengths(torch.eye(len(squared), dtype=torch.float64) - shares, squared)
            pulls = torch.where(distances > 0, 1 / distances, torch.zeros_like(distances))
            here, weight = int((distances == 0).sum()), float(pulls.sum())
            towards = pulls / weight - shares
            strength = weight * float(_lengths(towards[None], squared))
            if not strength - here > self.tolerance * len(squared):
                return shares, taken
            shares = shares + towards * (1 - here / strength)
        return shares, self.most_steps


def _even_enough(squared: tuple[Tensor, ...]) -> bool:
    """Whether distances are so much alike that sums of them keep the digits of each."""
    apart = squared[0][squared[0] > 0]
    return len(squared) == 1 and len(apart) > 0 and float(apart.min()) > _EVEN * float(apart.max())


def _lengths(changes: Tensor, squared: Tensor) -> Tensor:
    """‖Σ u_i Δ_i‖ for each row u of ``changes``, whose entries add up to 0."""
    return (((changes @ squared) * changes).sum(1) / -2).clamp(min=0).sqrt()


def _distances(rows: list[Tensor], point: Tensor) -> Tensor:
    """‖Δ_i - y‖ for each row."""
    blocks = of_blocks([*rows, point], lambda block: (block[:-1] - block[-1]).square().sum(1))
    distances = torch.stack(blocks).sum(0).sqrt()
    for i in (~((distances > 0) & torch.isfinite(distances))).nonzero().flatten().tolist():
        distances[i] = l2_norm(rows[i].double() - point)  # a square has vanished or overflowed
    return distances
