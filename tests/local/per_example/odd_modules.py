"""Modules that share, transpose or repeat their layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear


class Recurrent(nn.Module):
    """A recurrent layer on sequences of vectors, read off at the last step."""

    def __init__(self, kind: Any, into: int = 4, hidden: int = 3, **options: Any) -> None:
        super().__init__()
        self.cells = kind(into, hidden, **options)
        self.head = nn.Linear(2 * hidden if options.get("bidirectional") else hidden, 3)

    def forward(self, x: Tensor) -> Tensor:
        first = self.cells.batch_first
        steps = self.cells(x)[0][:, -1] if first else self.cells(x.transpose(0, 1))[0][-1]
        scores: Tensor = self.head(steps)
        return scores


class Tied(nn.Module):
    """Words go in and come out by the same table."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(3, 4)
        self.middle = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return linear(torch.tanh(self.middle(self.table(x).mean(1))), self.table.weight)


class TimeFirst(nn.Module):
    """Linear on [time, batch, ...]: with as many steps as examples the shape says nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(4, 5), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        steps = torch.tanh(self.layer(x.transpose(0, 1)))
        scores: Tensor = self.head((steps * torch.arange(1.0, 1 + len(steps)).view(-1, 1, 1)).sum(0))
        return scores
