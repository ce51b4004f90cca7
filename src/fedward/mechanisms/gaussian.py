"""The Gaussian mechanism: noise on the aggregate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fedward.base.randomness import SOURCES, Source, system_normal
from fedward.base.validate import one_of, positive


@dataclass(frozen=True, kw_only=True)
class GaussianNoise:
    """Gaussian noise; the multiplier z is its standard deviation in units of the clip bound over the cohort.

        mean + N(0, (z S / m̄)² I)

    Guarantee: that of the Gaussian mechanism with noise multiplier z·S/m̄ divided by the sensitivity for the
    adjacency: z for one user added or removed, z/2 for one replaced.

    Args:
      multiplier: z, the papers' σ.
      source: ``seeded`` is reproducible, and whoever knows the seed can subtract the noise: for research.
        ``system`` takes every bit from the operating system: for production. Neither is hardened against
        attacks on floating-point arithmetic (Mironov 2012).

    >>> GaussianNoise(multiplier=0.0)
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: noise multiplier must be positive and finite, got 0.0
    """

    multiplier: float
    source: Source = "seeded"

    def __post_init__(self) -> None:
        positive("noise multiplier", self.multiplier)
        one_of("noise source", self.source, SOURCES)

    def draw(self, mean: Tensor, std: float, rng: np.random.Generator) -> Tensor:
        normal = rng.standard_normal(mean.numel()) if self.source == "seeded" else system_normal(mean.numel())
        return torch.from_numpy(normal).mul_(std).view_as(mean)
