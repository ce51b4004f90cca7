"""A model on which an example's gradient is the same wherever the parameters are, and data to go with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from fedward.core.examples import Examples
from fedward.core.federation import Federation

_HUGE = 1e4
"""How long a canary's input is: its gradient is longer than any usual clip bound, and so clipped to it."""

Content = Literal["canary", "opposite", "nothing"]


class Level(nn.Module):
    """Gives 0 for everything, with the gradient of its input: p is 1/K whatever the model has learned."""

    def forward(self, scores: Tensor) -> Tensor:
        return scores - scores.detach()


def level_model(features: int) -> nn.Sequential:
    """Two classes, no bias: the loss of (x, y) has the gradient (1/2 - 1[y]) xᵀ at any parameters.

    >>> model = level_model(2)
    >>> loss = nn.functional.cross_entropy(model(torch.tensor([[3.0, 0.0]])), torch.tensor([0]))
    >>> loss.backward(); model[0].weight.grad.abs()
    tensor([[1.5000, 0.0000],
            [1.5000, 0.0000]])
    """
    linear = nn.Linear(features, 2, bias=False)
    nn.init.zeros_(linear.weight)
    return nn.Sequential(linear, Level())


def level_directions(features: int) -> Tensor:
    """The direction of a step against the gradient of canary i, of length 1: one row for each.

    >>> level_directions(2)[0].tolist()
    [0.7071067811865476, 0.0, -0.7071067811865476, 0.0]
    """
    units = torch.zeros(features, 2, features, dtype=torch.float64)
    which = torch.arange(features)
    units[which, 0, which], units[which, 1, which] = 0.5**0.5, -(0.5**0.5)
    return units.reshape(features, 2 * features)


@dataclass(frozen=True, kw_only=True)
class CanaryData:
    """The data of canaries: which users have one, along which input, and what it holds.

    Args:
      users: of the canaries, one each; canary i lies along input i.
      contents: what each holds: itself, the opposite, or nothing, which moves no model.
      added: whether a canary is one example more than the user has, where it holds something.
      whole_user: whether all of the user's data are the canary.
    """

    users: tuple[int, ...]
    contents: tuple[Content, ...]
    added: bool
    whole_user: bool


def canary_federation(
    sizes: Tensor, names: np.ndarray[Any, Any], features: int, data: CanaryData
) -> Federation:
    """Users with as many examples as those of the file, all of which are zero but for the canaries."""
    counts = sizes.clone()
    for user, content in zip(data.users, data.contents, strict=True):
        counts[user] += int(data.added and content != "nothing")
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    x = torch.zeros(int(offsets[-1]), features)
    for number, (user, content) in enumerate(zip(data.users, data.contents, strict=True)):
        stop = int(offsets[user + 1])
        start = int(offsets[user]) if data.whole_user else stop - 1
        x[start:stop, number] = {"canary": _HUGE, "opposite": -_HUGE, "nothing": 0.0}[content]
    y = torch.zeros(len(x), dtype=torch.int64)
    return Federation(Examples(x, y), offsets, names, 2)
