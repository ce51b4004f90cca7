"""Models that end the process that trains them."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch import Tensor, nn


class DiesOnce(nn.Module):
    """Kills its process at large examples, unless a file is there, which it makes before."""

    def __init__(self, note: Path) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)
            self.inner = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        self.note = str(note)

    def forward(self, x: Tensor) -> Tensor:
        if bool((x > 100).any()) and not os.path.exists(self.note):
            open(self.note, "x").close()
            os.kill(os.getpid(), 9)
        found: Tensor = self.inner(x)
        return found


class AlwaysDies(DiesOnce):
    """Kills its process at large examples every time."""

    def forward(self, x: Tensor) -> Tensor:
        if bool((x > 100).any()):
            os.kill(os.getpid(), 9)
        found: Tensor = self.inner(x)
        return found
