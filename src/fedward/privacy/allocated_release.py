"""One epoch of random allocation: its privacy losses on a grid, by the law of a mean of likelihood ratios."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from fedward.privacy.losses import Losses
from fedward.privacy.ratio_law import RatioLaw, add
from fedward.privacy.release import Release
from fedward.privacy.sampled_gaussian import Array

# Steps in a standard deviation of the ratio: with so many ε is too large by less than a thousandth.
_RESOLUTION = 20.0
_WIDEST_STEP = 4e-3
# A coarser grid is safe too; the work grows with the square of this.
_MOST_POINTS = 2**14
# Cells are integrated with eight nodes, which find all digits for a width of up to this.
_WIDEST_CELL = 1.0 / 16.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_NODES, _WEIGHTS = (_NODES + 1.0) / 2.0, _WEIGHTS / 2.0
_UNIT = 2.0**-53
# Relative errors of a mass that was integrated so.
_MASS = 2.0**-40


@lru_cache(maxsize=16)
def discretise_allocation(rounds: int, noise_multiplier: float, tail: float, grid: float) -> Release:
    """The losses of an epoch in which one user takes part in one of E rounds, drawn uniformly.

        base: N(0, I)    mixture: (1/E) Σ_t N(e_t/z, I)    in units of the noise's standard deviation
        ratio: R = (1/E) Σ_t exp(x_t/z - 1/2z²),  x_t independent and standard normal under the base

    Guarantee: both hockey-stick divergences are means, under the base, of convex functions of R:
    (R - e^ε)+ for the user removed, (1 - e^ε R)+ for the user added. The law here is wider than that of R
    (``RatioLaw``), so both are no smaller, alone and composed; what rounding may cost is added to masses
    and to ``blur``.

    Args:
      rounds: E.
      noise_multiplier: z.
      tail: how much of either law may be moved to infinitely large losses.
      grid: the step of the losses; theirs is a multiple of it.

    >>> law = discretise_allocation(8, 2.0, 1e-20, 1e-4).removed
    >>> round(float(law.mass.sum()), 9), law.infinite < 1e-20
    (1.0, True)

    Chua et al. 2025, "Balls-and-bins sampling for DP-SGD"; Feldman and Shenfeld 2025 and 2026.
    """
    stride = _stride(rounds, noise_multiplier, tail, grid)
    law = _mean_of(rounds, noise_multiplier, tail, stride * grid)
    larger = 1.0 + 2.0 * law.error
    log_points = law.points
    mixture = law.mass * np.exp(log_points) * larger
    return Release(
        removed=Losses(law.first * stride, _spread(mixture, stride), law.beyond * larger),
        added=Losses(
            -(law.first + len(law.mass) - 1) * stride,
            _spread(law.mass[::-1] * larger, stride),
            law.zero * larger,
        ),
        blur=2.0 * law.blur,
    )


def _stride(rounds: int, z: float, tail: float, grid: float) -> int:
    """The step of the ratio's grid, in steps of the losses' grid."""
    deviation = math.sqrt(math.expm1(min(z**-2, 700.0)) / rounds)
    step = min(deviation / _RESOLUTION, _WIDEST_STEP, _WIDEST_CELL / z)
    low, high = ends_of(rounds, z, tail)
    step = max(step, (high - low) / z / _MOST_POINTS)
    return max(1, math.floor(step / grid))


def ends_of(rounds: int, z: float, tail: float) -> tuple[float, float]:
    """Values of x beyond which next to nothing is lost, of the base below and of the mixture above."""
    low = float(ndtri(tail / (32 * rounds)))
    return low, 1.0 / z - low


def _mean_of(rounds: int, z: float, tail: float, step: float) -> RatioLaw:
    """The law of R: sums of 1, 2, 4, ... terms, and those that make up E."""
    term = _one_term(rounds, z, tail, step)
    total, power, left = None, term, rounds
    terms, summed = 1, 0
    while True:
        if left & 1:
            summed += terms
            total = power if total is None else add(total, power, tail * summed / (64 * rounds))
        left >>= 1
        if not left:
            assert total is not None
            return total
        terms *= 2
        power = add(power, power, tail * terms / (64 * rounds))


def _one_term(rounds: int, z: float, tail: float, step: float) -> RatioLaw:
    """The law of exp(x/z - 1/2z²) / E, split between points of the grid so that its mean stays."""
    low, high = ends_of(rounds, z, tail)
    shift = math.log(rounds) + 0.5 / z**2
    first, last = math.ceil((low / z - shift) / step), math.floor((high / z - shift) / step)
    last = max(last, first + 1)
    grid = step * np.arange(first, last + 1)
    edge = z * (grid + shift)
    width = (edge[1:] - edge[:-1])[:, None]
    x = edge[:-1, None] + width * _NODES
    above = np.clip(x / z - shift - grid[:-1, None], 0.0, step)
    up = np.expm1(above) / math.expm1(step)
    density = width * (_WEIGHTS / math.sqrt(2.0 * math.pi)) * np.exp(-(x**2) / 2.0)
    mass = np.zeros(len(grid))
    mass[:-1] += (density * (1.0 - up)).sum(axis=1)
    mass[1:] += (density * up).sum(axis=1)
    # What lies beyond the ends: see ``cut_ends``.
    below, over = float(ndtr(edge[0])), float(ndtr(-edge[-1]))
    mass[0] += below
    mass[-1] += over
    reach = max(abs(float(grid[0])), abs(float(grid[-1]))) + shift
    return RatioLaw(
        step=step,
        first=first,
        mass=mass,
        zero=below,
        beyond=float(ndtr(1.0 / z - edge[-1])) / rounds * (1.0 + 1e-9),
        error=_MASS,
        blur=16 * _UNIT * (1.0 + reach),
    )


def _spread(mass: Array, stride: int) -> Array:
    """The same masses on a grid that is finer by a factor."""
    if stride == 1:
        return np.array(mass)
    finer = np.zeros((len(mass) - 1) * stride + 1)
    finer[::stride] = mass
    return finer
