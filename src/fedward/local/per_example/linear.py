"""Linear layers, on inputs of any number of positions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fedward.local.per_example.outer import matrix_norms, numbers
from fedward.local.per_example.rule import Rule, SquaredNorms, chunks, weigh


def fits(layer: nn.Linear, a: Tensor) -> bool:
    return a.ndim >= 2


def norms(layer: nn.Linear, a: Tensor, g: Tensor) -> SquaredNorms:
    a, g = _positions(a), _positions(g)
    size = numbers(a.shape[1], a.shape[2], g.shape[2])
    net, gross = torch.zeros(2, len(a), dtype=torch.float64, device=a.device)
    for part in chunks(len(a), size):
        net[part], gross[part] = matrix_norms(layer, a[part], g[part])
    return SquaredNorms(net, gross)


def weighted_sum(layer: nn.Linear, a: Tensor, g: Tensor, weights: Tensor) -> dict[str, Tensor]:
    rows = weigh(g, weights).flatten(0, -2)
    sums = {}
    if layer.weight.requires_grad:
        sums["weight"] = rows.T @ a.flatten(0, -2).double()
    if layer.bias is not None and layer.bias.requires_grad:
        sums["bias"] = rows.sum(0)
    return sums


def _positions(rows: Tensor) -> Tensor:
    return rows.unsqueeze(1) if rows.ndim == 2 else rows.flatten(1, -2)


LINEAR = Rule(fits=fits, norms=norms, weighted_sum=weighted_sum)
