"""Convolutions in one, two or three dimensions, with any stride, padding, dilation and groups."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from fedward.local.per_example.outer import matrix_norms, numbers
from fedward.local.per_example.rule import Rule, SquaredNorms, chunks, weigh

Convolution = nn.Conv1d | nn.Conv2d | nn.Conv3d


def fits(layer: Convolution, a: Tensor) -> bool:
    return a.ndim == layer.weight.ndim


def norms(layer: Convolution, a: Tensor, g: Tensor) -> SquaredNorms:
    net, gross = torch.zeros(2, len(a), dtype=torch.float64, device=a.device)
    for part, windows, rows in _matrices(layer, a, g):
        squares = matrix_norms(layer, windows.flatten(0, 1), rows.flatten(0, 1))
        # The groups' parameters are apart from each other, so their squares add up.
        net[part], gross[part] = (square.view(-1, layer.groups).sum(1) for square in squares)
    return SquaredNorms(net, gross)


def weighted_sum(layer: Convolution, a: Tensor, g: Tensor, weights: Tensor) -> dict[str, Tensor]:
    sums = {}
    if layer.weight.requires_grad:
        total = torch.zeros(1, dtype=torch.float64, device=a.device)
        for part, windows, rows in _matrices(layer, a, g):
            factors = windows.double(), weigh(rows, weights[part])
            inputs, outputs = (factor.transpose(0, 1).flatten(1, 2) for factor in factors)
            total = total + torch.bmm(outputs.transpose(1, 2), inputs)
        channels, kernel = layer.weight.shape[1], layer.kernel_size
        sums["weight"] = total.view(layer.out_channels, *kernel, channels).movedim(-1, 1)
    if layer.bias is not None and layer.bias.requires_grad:
        sums["bias"] = weigh(g.flatten(2).sum(2), weights).sum(0)
    return sums


def _pad(layer: Convolution, a: Tensor) -> Tensor:
    """The input as the kernel meets it."""
    widths: list[int] = []
    for axis in reversed(range(a.ndim - 2)):
        if layer.padding == "same":
            total = layer.dilation[axis] * (layer.kernel_size[axis] - 1)
            widths += [total // 2, total - total // 2]
        else:
            width = 0 if layer.padding == "valid" else int(layer.padding[axis])
            widths += [width, width]
    if not any(widths):
        return a
    return pad(a, widths, mode="constant" if layer.padding_mode == "zeros" else layer.padding_mode)


def _matrices(layer: Convolution, a: Tensor, g: Tensor) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """The convolution as a product of matrices, some examples at a time.

    Gives what each position of the output saw, [batch, groups, positions, in], and the gradients of the
    outputs, [batch, groups, positions, out].
    """
    padded = _pad(layer, a)
    positions, groups = math.prod(g.shape[2:]), layer.groups
    into, out = math.prod(layer.weight.shape[1:]), layer.out_channels // groups
    for part in chunks(len(a), groups * numbers(positions, into, out)):
        rows = g[part].reshape(-1, groups, out, positions).transpose(2, 3)
        yield part, _windows(layer, padded[part]).reshape(-1, groups, positions, into), rows


def _windows(layer: Convolution, a: Tensor) -> Tensor:
    """What each position of the output saw: [batch, groups, outputs..., kernel..., channels]."""
    spatial = a.ndim - 2
    for axis in range(spatial):
        dilation = layer.dilation[axis]
        span = dilation * (layer.kernel_size[axis] - 1) + 1
        a = a.unfold(axis + 2, span, layer.stride[axis])[..., ::dilation]
    a = a.reshape(len(a), layer.groups, -1, *a.shape[2:])
    # From [batch, groups, channels, outputs..., kernel...]; the channel runs fastest in memory: it goes last.
    outputs, kernel = range(3, 3 + spatial), range(3 + spatial, 3 + 2 * spatial)
    return a.permute(0, 1, *outputs, *kernel, 2)


CONVOLUTION = Rule(fits=fits, norms=norms, weighted_sum=weighted_sum)
