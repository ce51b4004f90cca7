from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from fedward.clipping import FlatNorm, PerLayerNorm
from fedward.core.types import Bounds
from fedward.testing import check_norm
from testing.caught import caught


@dataclass(frozen=True, kw_only=True)
class LetsNaNPass(FlatNorm):
    """The trap of live peers: min(1, C/norm) is no bound for what is not a number."""

    def clip(self, update: Tensor, norms: Bounds, bounds: Bounds) -> Tensor:
        return update * min(1.0, bounds[0] / max(norms[0], 1e-300)) * (1 - 1e-6)


@dataclass(frozen=True, kw_only=True)
class SquaresInSinglePrecision(FlatNorm):
    def measure(self, update: Tensor) -> Bounds:
        return (float(update.square().sum().sqrt()),)


@dataclass(frozen=True, kw_only=True)
class RoundsUp(FlatNorm):
    def clip(self, update: Tensor, norms: Bounds, bounds: Bounds) -> Tensor:
        return super().clip(update, norms, (bounds[0] * (1 + 1e-5),))


@dataclass(frozen=True, kw_only=True)
class ClipsInPlace(FlatNorm):
    def clip(self, update: Tensor, norms: Bounds, bounds: Bounds) -> Tensor:
        return update.copy_(super().clip(update, norms, bounds))


@dataclass(frozen=True, kw_only=True)
class ShrinksEverything(FlatNorm):
    def clip(self, update: Tensor, norms: Bounds, bounds: Bounds) -> Tensor:
        return super().clip(update, norms, bounds) / 2


@dataclass(frozen=True, kw_only=True)
class ClipsAllLayersTogether(PerLayerNorm):
    def clip(self, update: Tensor, norms: Bounds, bounds: Bounds) -> Tensor:
        total = float(torch.tensor(bounds).norm())
        return FlatNorm().clip(update, FlatNorm().measure(update), (total,))


@pytest.mark.parametrize(
    ("norm", "fault"),
    [
        (LetsNaNPass(), "after it was clipped to"),
        (SquaresInSinglePrecision(), "whose L2 norm is"),
        (RoundsUp(), "after it was clipped to"),
        (ClipsInPlace(), "clip changed its input in place"),
        (ShrinksEverything(), "which was within its bounds"),
        (ClipsAllLayersTogether(sizes=(2, 5, 1)), "after it was clipped to"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_norm_is_caught(norm: Any, fault: str) -> None:
    assert fault in caught(check_norm, norm)


@pytest.mark.parametrize("norm", [FlatNorm(), PerLayerNorm(sizes=(2, 5, 1))], ids=repr)
def test_every_norm_keeps_its_promises(norm: Any) -> None:
    assert len(check_norm(norm).passed) >= 9
