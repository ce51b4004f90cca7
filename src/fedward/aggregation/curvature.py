"""The curvature of a training, from how its model and its updates moved (L-BFGS)."""

from __future__ import annotations

import torch
from torch import Tensor


def curvature_times(moves: Tensor, changes: Tensor, vector: Tensor) -> Tensor:
    """B v, where B is the L-BFGS approximation of a Hessian from pairs (s_k, y_k), one a row, oldest first.

        B = σI - [σSᵀ Yᵀ] [[σ S Sᵀ, L], [Lᵀ, -D]]⁻¹ [σS; Y],    σ = ⟨y, s⟩ / ⟨s, s⟩ of the last pair

    L has ⟨s_i, y_j⟩ below the diagonal (i > j), D on it. Without pairs, or where the last one shows no
    positive curvature, B is zero: nothing is known of how gradients change.

    >>> s = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    >>> curvature_times(s, 3 * s, torch.tensor([1.0, 2.0], dtype=torch.float64))
    tensor([3., 6.], dtype=torch.float64)

    Byrd, Nocedal, Schnabel 1994.
    """
    if not len(moves):
        return torch.zeros_like(vector)
    square = float(moves[-1] @ moves[-1])
    scale = float(moves[-1] @ changes[-1]) / square if square > 0 else 0.0
    if scale <= 0:
        return torch.zeros_like(vector)
    products = moves @ changes.T
    lower = torch.tril(products, diagonal=-1)
    middle = torch.cat(
        [
            torch.cat([scale * (moves @ moves.T), lower], dim=1),
            torch.cat([lower.T, -torch.diag(products.diagonal())], dim=1),
        ]
    )
    right = torch.cat([scale * (moves @ vector), changes @ vector])
    # By least squares: moves that repeat each other make the matrix singular.
    weights = torch.linalg.lstsq(middle, right[:, None], driver="gelsd").solution[:, 0]
    count = len(moves)
    times: Tensor = scale * vector - scale * (moves.T @ weights[:count]) - changes.T @ weights[count:]
    return times
