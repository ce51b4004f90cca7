"""The geometric median: the point nearest to all rows together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.aggregation.rows import rank_by_score, scale_down, squared_distances
from fedward.base.validate import open_unit, whole
from fedward.clipping.norms import l2_norm

# Differences of values up to 2 to this power, and their norms, fit into a double.
_SAFE_TO_SUBTRACT = 900


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
        start = rank_by_score(squared_distances(rows), lambda squared: squared.sqrt().sum(1))[0]
        point = rows[int(start)].double()
        for _ in range(self.most_steps):
            step = self._step(rows, point)
            if step is None:
                break
            point = point + step
        return point / power

    def _step(self, rows: list[Tensor], point: Tensor) -> Tensor | None:
        """The step from ``point``; None if it is near enough to the median."""
        pull, weight, here = torch.zeros_like(point), 0.0, 0
        for row in rows:
            away = row.double() - point
            distance = l2_norm(away)
            if distance == 0:
                here += 1
            else:
                pull.add_(away, alpha=1 / distance)
                weight += 1 / distance
        strength = l2_norm(pull)
        if strength - here <= self.tolerance * len(rows):
            return None
        return pull * ((1 - here / strength) / weight)
