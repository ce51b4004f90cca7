"""The row that is as far from the mean of the honest ones as may be without being an outlier among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from fedward.base.validate import one_of

Direction = Literal["std", "unit", "sign"]
"""Where the row is moved to: against every coordinate's deviation, against the mean, or against its signs."""


def check_direction(direction: str) -> None:
    """Raises in words if there is no such direction."""
    one_of("direction", direction, get_args(Direction))


def direction_of(rows: Tensor, direction: Direction) -> Tensor:
    """The perturbation ∇ᵖ of rows in double precision.

        std:   -σ, each coordinate's standard deviation (of the rows themselves, divided by their number)
        unit:  -μ / ‖μ‖₂
        sign:  -sign(μ)

    >>> direction_of(torch.tensor([[1.0, 4.0], [5.0, 4.0]], dtype=torch.float64), "std")
    tensor([-2., -0.], dtype=torch.float64)
    """
    mean = rows.mean(dim=0)
    if direction == "std":
        return -rows.std(dim=0, correction=0)
    if direction == "sign":
        return -torch.sign(mean)
    length = torch.linalg.vector_norm(mean)
    return -mean / length if length > 0 else torch.zeros_like(mean)


def moved(rows: Tensor, direction: Direction, reach: Callable[[Tensor, Tensor], float]) -> Tensor:
    """μ + γ ∇ᵖ with the γ that ``reach`` finds for the rows (in double precision) and ∇ᵖ."""
    rows = rows.double()
    towards = direction_of(rows, direction)
    return rows.mean(dim=0) + reach(rows, towards) * towards
