"""Norms of updates, and clipping that never lets one through above its bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.base.validate import InvalidValue, whole
from fedward.core.pieces import pieces
from fedward.core.types import Bounds

# Rounding may lift a scaled row above its bound by a few parts in 2^24 (float32); this pays for it.
_MARGIN = 1.0 - 2.0**-20


@dataclass(frozen=True, kw_only=True)
class FlatNorm:
    """One L2 norm for the whole update.

        clip(Δ, S) = Δ · min(1, S / ‖Δ‖₂)

    Guarantee: the norm of the result, taken in double precision, is at most S for every finite Δ; huge
    updates whose float32 norm would overflow included.

    >>> norm, update = FlatNorm(), torch.tensor([3.0, 4.0])
    >>> norm.measure(update)
    (5.0,)
    >>> norm.clip(update, (5.0,), (1.0,))
    tensor([0.6000, 0.8000])
    """

    groups = 1
    sizes = None

    def measure(self, update: Tensor) -> Bounds:
        return (l2_norm(update),)

    def clip(self, update: Tensor, norms: Bounds, bounds: Bounds) -> Tensor:
        return clip_to(update, norms[0], bounds[0])


@dataclass(frozen=True, kw_only=True)
class PerLayerNorm:
    """One L2 norm for each layer; a layer's weight and bias are clipped together.

        clip(Δ, S)_l = Δ_l · min(1, S_l / ‖Δ_l‖₂)

    Guarantee: the norm of layer l is at most S_l, so that of the whole update is at most sqrt(Σ_l S_l²),
    which is what noise is scaled by. With one S for all L layers that is S·√L, not S.

    Args:
      sizes: how many parameters each layer has, in order: ``ParameterSpec.of(model).layer_sizes()``.

    >>> norm, update = PerLayerNorm(sizes=(2, 1)), torch.tensor([3.0, 4.0, 0.5])
    >>> norm.measure(update)
    (5.0, 0.5)
    >>> norm.clip(update, (5.0, 0.5), (1.0, 1.0))
    tensor([0.6000, 0.8000, 0.5000])

    McMahan et al. 2018.
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes:
            raise InvalidValue("per-layer clipping needs at least one layer, got none")
        for size in self.sizes:
            whole("size of a layer", size)

    @property
    def groups(self) -> int:
        return len(self.sizes)

    def measure(self, update: Tensor) -> Bounds:
        return tuple(l2_norm(layer) for layer in torch.split(update, list(self.sizes)))

    def clip(self, update: Tensor, norms: Bounds, bounds: Bounds) -> Tensor:
        clipped = torch.empty_like(update)
        both = (torch.split(vector, list(self.sizes)) for vector in (update, clipped))
        for layer, place, norm, bound in zip(*both, norms, bounds, strict=True):
            place.copy_(clip_to(layer, norm, bound))
        return clipped


def l2_norm(vector: Tensor) -> float:
    """The L2 norm in double precision, also where its square overflows.

    >>> l2_norm(torch.full((4,), 1e30)) / 1e30
    2.0000000300949323
    """
    norm = _norm_by_pieces(vector)
    if math.isfinite(norm) or not bool(torch.isfinite(vector).all()):
        return norm
    largest = float(vector.abs().max())
    return largest * _norm_by_pieces(vector / largest)


def clip_to(update: Tensor, norm: float, bound: float) -> Tensor:
    """The update scaled to at most ``bound``; ``norm`` is its ``l2_norm``. What is not finite becomes 0."""
    if norm <= bound:
        return update
    if not math.isfinite(norm) and not bool(torch.isfinite(update).all()):
        return torch.zeros_like(update)
    # An update of float64 may have a norm beyond the largest number: halve it until it has one.
    while math.isinf(norm):
        update = update / 2
        norm = l2_norm(update)
    clipped, scale, norms = torch.empty_like(update), bound / norm * _MARGIN, []
    for piece, place in pieces(update, clipped):
        # In double precision: the scale of an update of norm 1e38 is too small for float32.
        place.copy_(piece.double() * scale)
        norms.append(_norm(place))
    # Near the smallest numbers there are, rounding is coarser than the margin: better nothing than too much.
    return clipped if _together(norms) <= bound else torch.zeros_like(update)


def _norm_by_pieces(vector: Tensor) -> float:
    return _together([_norm(piece) for (piece,) in pieces(vector.reshape(-1))])


def _together(norms: list[float]) -> float:
    """The norm of all pieces; of one its own, to the last bit."""
    # With infinity beside it, ``hypot`` takes no notice of NaN.
    return math.nan if any(map(math.isnan, norms)) else math.hypot(*norms)


def _norm(piece: Tensor) -> float:
    return float(torch.linalg.vector_norm(piece, dtype=torch.float64))
