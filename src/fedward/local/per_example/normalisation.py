"""Layers that normalise within one example: LayerNorm, GroupNorm and InstanceNorm."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.linalg import vector_norm
from torch.nn.functional import group_norm, layer_norm

from fedward.local.per_example.rule import Rule, SquaredNorms, weigh

InstanceNorm = nn.InstanceNorm1d | nn.InstanceNorm2d | nn.InstanceNorm3d
Normalisation = nn.LayerNorm | nn.GroupNorm | InstanceNorm


def fits(layer: Normalisation, a: Tensor) -> bool:
    if isinstance(layer, nn.LayerNorm):
        # With no dimension left for the batch it would normalise over the examples.
        return a.ndim > len(layer.normalized_shape)
    if isinstance(layer, nn.GroupNorm):
        return a.ndim >= 2
    wanted = {nn.InstanceNorm1d: 3, nn.InstanceNorm2d: 4, nn.InstanceNorm3d: 5}[type(layer)]
    return a.ndim == wanted and not layer.track_running_stats


def norms(layer: Normalisation, a: Tensor, g: Tensor) -> SquaredNorms:
    net, gross = torch.zeros(2, len(a), dtype=torch.float64, device=a.device)
    for terms in _terms(layer, a, g).values():
        net += _square(terms.sum(1))
        gross += _square(terms.abs().sum(1))
    return SquaredNorms(net, gross)


def weighted_sum(layer: Normalisation, a: Tensor, g: Tensor, weights: Tensor) -> dict[str, Tensor]:
    terms = _terms(layer, a, weigh(g, weights))
    shape = layer.weight.shape
    return {name: rows.sum((0, 1)).view(shape) for name, rows in terms.items()}


def _terms(layer: Normalisation, a: Tensor, g: Tensor) -> dict[str, Tensor]:
    """What each position adds to each trainable parameter: [batch, positions, parameters]."""
    if isinstance(layer, nn.LayerNorm):
        normal = layer_norm(a, list(layer.normalized_shape), eps=layer.eps)
        shape, order = (len(a), -1, layer.weight.numel()), (0, 1, 2)
    else:
        groups = layer.num_groups if isinstance(layer, nn.GroupNorm) else layer.num_features
        normal = group_norm(a, groups, eps=layer.eps)
        shape, order = (len(a), a.shape[1], -1), (0, 2, 1)
    terms = {"weight": g * normal, "bias": g}
    rows = {name: term.reshape(shape).permute(order) for name, term in terms.items()}
    parameters = dict(layer.named_parameters(recurse=False))
    return {name: row for name, row in rows.items() if name in parameters and parameters[name].requires_grad}


def _square(rows: Tensor) -> Tensor:
    norms: Tensor = vector_norm(rows, dim=1, dtype=torch.float64)
    return norms.square()


NORMALISATION = Rule(fits=fits, norms=norms, weighted_sum=weighted_sum)
