"""One release of a sampled Gaussian: its privacy losses on a grid, each mass right to its last digits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from fedward.privacy.losses import Losses
from fedward.privacy.sampled_gaussian import Array, log_mixture

# Eight nodes integrate exp(-y²/2) and the losses over a sixteenth to all digits that a float has, for every
# |y| up to 45 and every noise multiplier from 0.05: the next term is below 1e-17 of the integral.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_NODES, _WEIGHTS = (_NODES + 1.0) / 2.0, _WEIGHTS / 2.0
_PANELS_IN_ONE = 16
# Panels that are worked on at once: it bounds memory, not precision.
_CHUNK = 2**16
_UNIT = 2.0**-53


@dataclass(frozen=True, eq=False, kw_only=True)
class Release:
    """The losses of one release, in both directions, and how far off they may be.

        base: N(0, 1)    mixture: (1 - q) N(0, 1) + q N(1/z, 1)    in units of the noise's standard deviation

    Guarantee: with every loss ``blur`` larger, the laws dominate the pair, if their masses were exact: the
    hockey-stick curves lie above the true ones, alone and composed (Doroshenko et al. 2022, "Connect the
    dots"). A mass is a sum of positive numbers, none of which lost a digit to a difference, so it is exact
    but for a relative 2^-40, in the tails as well.

    Proof of the first: between two edges ŷ the true losses leave the cell [l, l + step] of the grid by at
    most the blur s. A law on l + s and l + step + s with the same mass and no larger mean of e^-loss
    dominates; the share of the upper point that keeps the mean is at most that of exact edges plus
    s / (1 - e^-step), and so much more is moved there.

    Args:
      removed: the loss log(mixture/base) under the mixture.
      added: the loss log(base/mixture) under the base.
      blur: how much larger each loss may truly be.
    """

    removed: Losses
    added: Losses
    blur: float


# Who asks once asks again: a search over rounds, a budget before each of them.
@lru_cache(maxsize=8)
def discretise_release(rate: float, noise_multiplier: float, tail: float, step: float) -> Release:
    """The losses of one release.

    Args:
      rate: q, in (0, 1].
      noise_multiplier: z, at least 0.05.
      tail: how much of either law may be moved to infinitely large losses.
      step: of the grid.

    >>> law = discretise_release(0.1, 3.0, 1e-20, 1e-4).removed
    >>> round(float(law.mass.sum()), 12), law.infinite < 1e-20
    (1.0, True)
    """
    low = float(ndtri(tail / 2))
    high = 1.0 / noise_multiplier - low
    bottom, top = _loss(rate, noise_multiplier, np.array([low, high]))
    first = math.floor(bottom / step)
    last = max(math.ceil(top / step), first + 2)
    grid = step * np.arange(first, last + 1)
    edge = np.clip(_inverse(rate, noise_multiplier, grid), low, high)
    edge[0], edge[-1] = low, high
    edge = np.maximum.accumulate(edge)
    inside = (edge > low) & (edge < high)
    off = np.abs(_loss(rate, noise_multiplier, edge[inside]) - grid[inside])
    # What edges miss the grid by, and what the loss itself may be rounded by.
    reach = max(abs(low), high) / noise_multiplier + 0.5 / noise_multiplier**2
    blur = float(off.max(initial=0.0)) + 16 * _UNIT * (1.0 + reach)
    mixture, mixture_up, base, base_up = _cells(rate, noise_multiplier, edge, grid, blur / -math.expm1(-step))
    removed, added = _split(mixture, mixture_up), _split(base[::-1], base_up[::-1])
    # What lies beyond the ends has losses below the second point of the grid, or counts as infinite.
    shift = 1.0 / noise_multiplier
    removed[1] += (1 - rate) * ndtr(low) + rate * ndtr(low - shift)
    added[1] += ndtr(-high)
    above = float((1 - rate) * ndtr(-high) + rate * ndtr(shift - high))
    return Release(
        removed=Losses(first, removed, above), added=Losses(-last, added, float(ndtr(low))), blur=blur
    )


def _loss(q: float, z: float, y: Array) -> Array:
    """log(mixture/base) at y."""
    t = y / z - 0.5 / z**2
    return t if q == 1.0 else log_mixture(q, t)


def _inverse(q: float, z: float, loss: Array) -> Array:
    """Where the loss takes these values; minus infinity below the least there is."""
    with np.errstate(divide="ignore"):
        t = loss if q == 1.0 else np.log1p(np.maximum(np.expm1(loss) / q, -1.0))
    return z * t + 0.5 / z


def _cells(q: float, z: float, edge: Array, grid: Array, more: float) -> tuple[Array, Array, Array, Array]:
    """For each cell the mass of mixture and base, each with the part of it that goes to the larger loss.

    Integrated panel by panel: a difference of two distribution functions would lose digits, and so would
    that of two masses in the share of the larger loss.
    """
    step = float(grid[1] - grid[0])
    cuts = np.arange(math.ceil(edge[0] * _PANELS_IN_ONE), math.floor(edge[-1] * _PANELS_IN_ONE) + 1)
    ends = np.unique(np.concatenate([edge, cuts / _PANELS_IN_ONE]))
    cell = np.clip(np.searchsorted(edge, ends[:-1], side="right") - 1, 0, len(edge) - 2)
    sums = np.zeros((4, len(edge) - 1))
    scale = 1.0 / (-math.expm1(-step))
    for start in range(0, len(cell), _CHUNK):
        part = slice(start, start + _CHUNK)
        width = (ends[1:] - ends[:-1])[part, None]
        y = ends[:-1][part, None] + width * _NODES
        loss = _loss(q, z, y)
        above = np.clip(loss - grid[cell[part], None], 0.0, step)
        weight = width * (_WEIGHTS / math.sqrt(2.0 * math.pi))
        # In one exponent: either factor alone may be beyond all floats.
        mixture, base = weight * np.exp(loss - y**2 / 2), weight * np.exp(-(y**2) / 2)
        mixture_up = mixture * np.minimum(1.0, -np.expm1(-above) * scale + more)
        base_up = base * np.minimum(1.0, -np.expm1(above - step) * scale + more)
        for row, values in enumerate((mixture, mixture_up, base, base_up)):
            sums[row] += np.bincount(cell[part], values.sum(axis=1), minlength=sums.shape[1])
    return sums[0], sums[1], sums[2], sums[3]


def _split(mass: Array, up: Array) -> Array:
    """The masses of cells on the points between which they lie."""
    points = np.zeros(len(mass) + 1)
    points[:-1] += np.maximum(0.0, mass - up)
    points[1:] += up
    return points
