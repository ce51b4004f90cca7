"""The movement of a model along a direction, in double precision."""

from __future__ import annotations

import torch
from torch import Tensor

from fedward.core.pieces import pieces

State = tuple[Tensor, ...]
"""The state that a server's optimiser carries from round to round."""


def move_parameters(parameters: Tensor, direction: Tensor, learning_rate: float) -> Tensor:
    """The parameters after a step of this length, in their own precision."""
    moved = torch.empty_like(parameters)
    for after, before, along in pieces(moved, parameters, direction):
        after.copy_(before.double() + learning_rate * along)
    return moved
