"""Sums of outer products: the gradient of everything that multiplies its input by a matrix."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.linalg import vector_norm

from fedward.local.per_example.rule import SquaredNorms

# Gram matrices are of float64 and pay only where they are much smaller than the product.
_GRAM_GAIN = 4
# Adding T equal numbers in float32 may round the same way each time, by up to T/4 parts in 2^24. The engine's
# margin allows for 2^5 such parts in the norm and again in the sum: so many at a time, then in float64.
_BLOCK = 128


def matrix_norms(layer: nn.Module, a: Tensor, g: Tensor) -> SquaredNorms:
    """Squared norms of each example's gradient of ``layer.weight`` and ``layer.bias`` together.

        ‖Σ_t g_t a_tᵀ‖² + ‖Σ_t g_t‖²

    With one position the first is ‖a‖² ‖g‖². With few it is Σ_ts (a_t·a_s)(g_t·g_s), from two Gram matrices
    in double precision, since that sum cancels twice as badly as the gradient itself. Otherwise the product
    is formed. Parameters that are frozen or missing are left out.

    Args:
      layer: whose parameters they are.
      a: inputs, [batch, positions, in].
      g: gradients of the outputs, [batch, positions, out].

    Goodfellow 2015; Li et al. 2022; Bu et al. 2022.
    """
    lengths = _lengths(g)
    net, gross = torch.zeros(2, len(a), dtype=torch.float64, device=a.device)
    if _is_trained(layer.weight):
        net += _outer_squares(a, g)
        gross += (_lengths(a) * lengths).sum(1).square()
    if _is_trained(layer.bias):
        net += _squares(g.sum(1))
        gross += lengths.sum(1).square()
    return SquaredNorms(net, gross)


def products(a: Tensor, g: Tensor) -> Tensor:
    """Σ_t g_t a_tᵀ for each example, [batch, out, in]. Its rounding does not grow with the positions.

    >>> a, g = torch.full((1, 10**5, 1), 0.3), torch.full((1, 10**5, 1), 0.7)
    >>> exact = 10**5 * float(a[0, 0]) * float(g[0, 0])
    >>> abs(float(products(a, g)) / exact - 1) < 2**-19
    True
    """
    batch, positions = a.shape[:2]
    if positions <= _BLOCK:
        return torch.bmm(g.transpose(1, 2), a)
    # Blocks that leave no rest are views: nothing is copied.
    least = -(-positions // _BLOCK)
    even = (blocks for blocks in range(least, 2 * least) if positions % blocks == 0)
    blocks = next(even, positions // _BLOCK)
    size = min(_BLOCK, positions // blocks)
    whole = blocks * size
    cut_a, cut_g = (rows[:, :whole].reshape(batch * blocks, size, -1) for rows in (a, g))
    parts = torch.bmm(cut_g.transpose(1, 2), cut_a).view(batch, blocks, g.shape[2], a.shape[2])
    total = parts.sum(1, dtype=torch.float64)
    return total if whole == positions else total + torch.bmm(g[:, whole:].transpose(1, 2), a[:, whole:])


def numbers(positions: int, into: int, out: int) -> int:
    """How many numbers are needed for one example."""
    blocks = 2 * -(-positions // _BLOCK) if positions > _BLOCK else int(positions > 1)
    return max(positions * max(into, out), blocks * into * out)


def _outer_squares(a: Tensor, g: Tensor) -> Tensor:
    positions, into, out = a.shape[1], a.shape[2], g.shape[2]
    if positions == 1:
        return _squares(a) * _squares(g)
    if _GRAM_GAIN * positions * (into + out) < into * out:
        return (_gram(a) * _gram(g)).sum((1, 2)).clamp(min=0)
    return _squares(products(a, g))


def _is_trained(parameter: object) -> bool:
    return isinstance(parameter, nn.Parameter) and parameter.requires_grad


def _squares(rows: Tensor) -> Tensor:
    norms: Tensor = vector_norm(rows.flatten(1), dim=1, dtype=torch.float64)
    return norms.square()


def _lengths(rows: Tensor) -> Tensor:
    """The length of each position's vector, to estimate rounding from: single precision is enough."""
    lengths: Tensor = vector_norm(rows, dim=2).double()
    if not bool(torch.isfinite(lengths).all()):
        lengths = vector_norm(rows, dim=2, dtype=torch.float64)
    return lengths


def _gram(rows: Tensor) -> Tensor:
    rows = rows.double()
    return torch.bmm(rows, rows.transpose(1, 2))
