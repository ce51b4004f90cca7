"""Noise instead of an update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.attack_types import Conduct
from fedward.base.validate import positive
from fedward.core.types import Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class GaussianUpdate:
    """The attacker sends noise; what it trained is thrown away.

        Δ ~ N(0, σ² I)

    It has no target: it keeps the model from learning. Its length is about σ√d for d parameters, and a
    server that clips leaves no more of it than of any other row.

    Args:
      std: σ: the standard deviation of the noise that attackers send.

    >>> sight = Sight(round=0, parameters=torch.zeros(3), bounds=(), own={})
    >>> GaussianUpdate(std=200.0).tamper(torch.zeros(3), sight, np.random.default_rng(0)).round()
    tensor([ 25., -26., 128.])

    Blanchard, El Mhamdi, Guerraoui, Stainer 2017, with σ = 200.
    """

    std: float

    needs: ClassVar[Knowledge] = "own"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=False, discards_update=True)

    def __post_init__(self) -> None:
        positive("standard deviation", self.std)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        normal = torch.from_numpy(rng.standard_normal(update.numel()))
        return normal.mul_(self.std).to(update.dtype).view_as(update)
