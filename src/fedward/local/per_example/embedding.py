"""Embeddings: one row of the table for each token."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.linalg import vector_norm

from fedward.local.per_example.rule import Rule, SquaredNorms, weigh


def fits(layer: nn.Embedding, a: Tensor) -> bool:
    # The norm of a row is cut in place, and frequencies are counted over the batch: not this rule's gradient.
    return layer.max_norm is None and not layer.scale_grad_by_freq


def norms(layer: nn.Embedding, a: Tensor, g: Tensor) -> SquaredNorms:
    rows = _drop_padding(layer, a, g).reshape(a.numel(), -1)
    # A token that an example has twice gets the sum of both gradients: add up by pairs (example, token).
    owner = torch.arange(len(a), device=a.device).unsqueeze(1)
    pairs, sums = _sums_by(owner * layer.num_embeddings + a.reshape(len(a), -1), rows)
    squares = vector_norm(sums, dim=1).square()
    net = squares.new_zeros(len(a)).index_add_(0, pairs // layer.num_embeddings, squares)
    gross = vector_norm(rows, dim=1, dtype=torch.float64).view(len(a), -1).sum(1).square()
    return SquaredNorms(net, gross)


def weighted_sum(layer: nn.Embedding, a: Tensor, g: Tensor, weights: Tensor) -> dict[str, Tensor]:
    rows = weigh(_drop_padding(layer, a, g), weights).reshape(a.numel(), -1)
    tokens, sums = _sums_by(a, rows)
    total = torch.zeros_like(layer.weight, dtype=torch.float64)
    total[tokens] = sums
    return {"weight": total}


def _sums_by(keys: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The different keys, and the sum of the rows of each; in float64, for a key may come very often."""
    distinct, place = torch.unique(keys.flatten(), return_inverse=True)
    sums = torch.zeros(len(distinct), rows.shape[1], dtype=torch.float64, device=rows.device)
    return distinct, sums.index_add_(0, place, rows.double())


def _drop_padding(layer: nn.Embedding, a: Tensor, g: Tensor) -> Tensor:
    if layer.padding_idx is None:
        return g
    return g.masked_fill((a == layer.padding_idx).unsqueeze(-1), 0)


EMBEDDING = Rule(fits=fits, norms=norms, weighted_sum=weighted_sum)
