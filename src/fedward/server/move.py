"""The movement of a model along a direction, in double precision."""

from __future__ import annotations

from torch import Tensor

State = tuple[Tensor, ...]
"""The state that a server's optimiser carries from round to round."""


def move_parameters(parameters: Tensor, direction: Tensor, learning_rate: float) -> Tensor:
    """The parameters after a step of this length, in their own precision."""
    return (parameters.double() + learning_rate * direction).to(parameters.dtype)
