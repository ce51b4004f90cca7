"""No mechanism: the aggregate as it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fedward.base.randomness import Source


@dataclass(frozen=True, kw_only=True)
class NoNoise:
    """No noise, and so no guarantee."""

    @property
    def multiplier(self) -> float:
        return 0.0

    @property
    def source(self) -> Source:
        return "seeded"

    def draw(self, mean: Tensor, std: float, rng: np.random.Generator) -> Tensor:
        return torch.zeros_like(mean)
