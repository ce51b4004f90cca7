"""Gaussian noise on an integer grid: the discrete law that stands for a Gaussian, and why it may."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from fedward.base.discrete_gaussian import DiscreteGaussian, round_up
from fedward.core.grid import Grid
from fedward.core.mechanism import Sensitivity

# The variance, in squared units of the grid, that turns continuous noise into noise on the grid.
SMOOTHING = 16
# Units of the grid in a standard deviation: at most this power of two, so that 2 σ² is at most 2^62.
NOISE_BITS = 30


@dataclass(frozen=True, kw_only=True)
class ExactGaussian:
    """Discrete Gaussian noise that protects no less than Gaussian noise of z times the row's bound.

        (K + Y) γ,    P(Y = y) ∝ e^(-y² / 2σ²) for each coordinate,    σ² >= (z S / γ)² + 16

    where K is the sum of rows in units of the grid's spacing γ, an integer vector.

    Guarantee: let M be this mechanism, d its coordinates and T the rounds of a training. M' adds Gaussian
    noise of variance σ² - 16 to K and then draws each coordinate from the discrete Gaussian of variance 16
    around it. Each probability of M is that of M' times a number from e^-η to e^η, with η = d · 5e-137. M' is
    post-processing of Gaussian noise of multiplier at least z. So whatever holds for that, (ε, δ) alone,
    composed, under sampling or for a group, holds for M with ε + 2 T η and δ e^(T η): with 10^15 numbers
    drawn that is 10^-120 more, beyond all digits that are stored.

    It is no more than this: the curve of the discrete law is not below that of the Gaussian of the same
    variance, since all whole Rényi divergences agree and the laws differ. docs/exact-noise.md has the proofs.

    Args:
      multiplier: z.
      grid: of the rows.

    >>> noise = ExactGaussian.of(2.0, 1.0)
    >>> noise.grid.spacing == 2.0**-25, noise.law.twice_variance == 2 * (2**26) ** 2 + 2**23
    (True, True)

    Canonne, Kamath and Steinke 2020; Peikert 2010 for sums of Gaussians on lattices.
    """

    multiplier: float
    grid: Grid

    @classmethod
    def of(cls, multiplier: float, bound: float) -> ExactGaussian:
        """The noise for rows of norm at most ``bound``, on the finest grid that it can be drawn on."""
        return cls(multiplier=multiplier, grid=Grid.for_bound(bound, multiplier * bound * 2.0**-NOISE_BITS))

    @property
    def law(self) -> DiscreteGaussian:
        """The law of the noise of each coordinate, in units of the grid."""
        deviation = Fraction(self.multiplier) * Fraction(self.grid.bound) / Fraction(self.grid.spacing)
        return DiscreteGaussian(twice_variance=round_up(math.ceil(2 * (deviation**2 + SMOOTHING))))

    def release(self, aggregate: Tensor, sensitivity: Sensitivity) -> Tensor:
        """The aggregate of rows on the grid with noise, every bit of it from the operating system."""
        units = self.grid.units(aggregate, sensitivity.share)
        noise = torch.from_numpy(self.law.sample(aggregate.numel())).view_as(units)
        return self.grid.floats(units + noise, sensitivity.share, aggregate)
