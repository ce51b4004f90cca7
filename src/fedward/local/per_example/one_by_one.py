"""Any module at all: each example goes through it alone."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedward.clipping.norms import FlatNorm, PerLayerNorm
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds, Norm


def clipped_one_by_one(model: FlatModule, x: Tensor, y: Tensor, bounds: Bounds) -> Tensor:
    """The same as ``clipped_sum``, from batches of one: exact for every module, and slow.

    An example whose gradient is not finite contributes nothing.
    """
    norm: Norm = FlatNorm() if len(bounds) == 1 else PerLayerNorm(sizes=model.spec.layer_sizes())
    gradient = model.gradient
    total = torch.zeros_like(gradient, dtype=torch.float64)
    for i in range(len(x)):
        gradient.zero_()
        cross_entropy(model(x[i : i + 1]), y[i : i + 1], reduction="sum").backward()  # type: ignore[no-untyped-call]
        if bool(torch.isfinite(gradient).all()):
            total += norm.clip(gradient, norm.measure(gradient), bounds)
    return total
