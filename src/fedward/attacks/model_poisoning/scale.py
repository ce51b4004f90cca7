"""Model replacement: the update, made larger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.attack_types import Conduct
from fedward.base.validate import positive
from fedward.clipping.norms import clip_to, l2_norm
from fedward.core.types import Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The attacker trains as everybody does and sends γ times what it got.

        Δ ← γ Δ

    With γ = n/η, where n rows are averaged and η is the server's learning rate, the attacker's model takes
    the place of the shared one in a single round. Nothing limits it but the server's clip bound. A row that
    γ lifts beyond the largest number is not finite: the server rejects it.

    Args:
      factor: γ: attackers send their update times this.

    >>> sight = Sight(round=0, parameters=torch.zeros(2), bounds=(), own={})
    >>> Scale(factor=50.0).tamper(torch.tensor([0.5, -1.0]), sight, np.random.default_rng(0))
    tensor([ 25., -50.])

    Bagdasaryan et al. 2020; Xie et al. 2022, appendix A.2, with γ = 50.
    """

    factor: float

    needs: ClassVar[Knowledge] = "own"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=False)

    def __post_init__(self) -> None:
        positive("scale factor", self.factor)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return scale_update(update, self.factor)


def scale_update(update: Tensor, factor: float, norm: float | None = None) -> Tensor:
    """``factor`` times the update, or less where that would be longer than ``norm``.

    A server that clips at ``norm`` leaves the result as it is, to the last bit. What is not finite stays so.

    >>> scale_update(torch.tensor([3.0, 4.0]), 10.0, 1.0)
    tensor([0.6000, 0.8000])
    """
    if norm is not None and (length := l2_norm(update)) > 0:
        factor = min(factor, norm / length)
    # In double precision: a factor beyond float32 would make NaN of a coordinate that is zero.
    row = (update.double() * factor).to(update.dtype)
    if norm is None or not bool(torch.isfinite(row).all()):
        return row
    # Rounding may have lifted the row above the norm, and then the server would change every bit of it.
    return clip_to(row, l2_norm(row), norm)
