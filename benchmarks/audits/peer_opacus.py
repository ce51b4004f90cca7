"""Trainings by Opacus with and without a canary, for ``audit_peers.py``; runs in an environment with Opacus.

What is seen of every step is how far the weights moved, in units of what a clipped example adds where the
batch is divided by N q; and how noisy the other coordinates are.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EXAMPLES, BATCH, STEPS, NOISE, CLIP, RATE, WIDTH = 16, 8, 3, 2.0, 1.0, 0.1, 20


class Level(nn.Module):
    """One output with a gradient that is the same at all weights."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, 1, bias=False)
        nn.init.zeros_(self.linear.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


def train(inside: bool, follows: bool) -> tuple[list[float], list[float]]:
    """One training; where N may not follow the data, a zero example takes the canary's place."""
    examples = EXAMPLES if inside or not follows else EXAMPLES - 1
    x = torch.zeros(examples, WIDTH)
    if inside:
        x[-1, 0] = 100.0
    model = Level()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    loader = DataLoader(TensorDataset(x), batch_size=BATCH)
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=NOISE, max_grad_norm=CLIP
    )
    along, beside, before = [], [], torch.zeros(WIDTH)
    steps = 0
    while steps < STEPS:
        for (batch,) in loader:
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
            weights = model._module.linear.weight.detach()[0].clone()
            moved = -(weights - before) * BATCH / (RATE * CLIP)
            along.append(float(moved[0]))
            beside.append(float(moved[1:].norm()) / (WIDTH - 1) ** 0.5)
            before, steps = weights, steps + 1
            if steps == STEPS:
                break
    return along, beside


def main() -> None:
    """Writes what was seen: argv has the file, the number of trainings, and whether N follows the data."""
    out, runs, follows = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "follows"
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    inside = np.arange(runs) % 2 == 0
    seen = [train(bool(there), follows) for there in inside]
    np.savez(
        out,
        inside=inside,
        direction=np.array([each[0] for each in seen]),
        noise=np.array([each[1] for each in seen]),
        about=np.array([BATCH / EXAMPLES, NOISE, STEPS]),
    )


if __name__ == "__main__":
    main()
