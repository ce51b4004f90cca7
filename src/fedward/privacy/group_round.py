"""One round against a group of k: the pair of laws that dominates it, on a grid of privacy losses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from fedward.privacy.losses import Losses
from fedward.privacy.sampled_gaussian import Array

# Rows of the matrix (losses x components) that is worked on at once: it bounds memory, not precision.
_CHUNK = 2**20
_NEWTON_STEPS = 60
_PRECISION = 1e-13


@dataclass(frozen=True, kw_only=True)
class GroupRound:
    """What one round shows of a group of k users that take part or not.

        base: N(0, 1)    mixture: Σ_j Bin(j; k, q) N(j/z, 1)    in units of the noise's standard deviation

    Guarantee: whatever k clipped updates are sent by users that the server draws with probability q, the
    round without them and the round with them are post-processings of the base and the mixture, in both
    directions. So no test tells them apart better, and rounds compose.

    Args:
      rate: q, in (0, 1].
      noise_multiplier: z.
      k: the size of the group, at least 1.
      tail: how much of either law may be moved to infinitely large losses.

    >>> one = GroupRound(rate=1.0, noise_multiplier=2.0, k=4, tail=1e-15)
    >>> one.shifts.tolist(), one.left_out
    ([2.0], 0.0)

    Choquette-Choo, Ganesh, Steinke and Thakurta 2024; Ganesh 2024, "Tight group-level DP guarantees for
    DP-SGD with sampling via mixture of Gaussians mechanisms".
    """

    rate: float
    noise_multiplier: float
    k: int
    tail: float

    @cached_property
    def _components(self) -> tuple[Array, Array, float]:
        """Shifts, logarithms of their weights, and the weight of the components that are left out.

        Leaving out is safe: what is left out counts as infinite loss where the mixture comes first, and a
        smaller mixture makes the loss larger where it comes second.
        """
        if self.rate == 1.0:
            return np.array([self.k / self.noise_multiplier]), np.zeros(1), 0.0
        from scipy.stats import binom  # it imports most of scipy, and not every command comes here

        drawn = binom(self.k, self.rate)
        low, high = int(drawn.ppf(self.tail / 8)), int(drawn.isf(self.tail / 8))
        j = np.arange(low, high + 1)
        left_out = float(drawn.cdf(low - 1) + drawn.sf(high))
        return j / self.noise_multiplier, np.asarray(drawn.logpmf(j)), left_out

    @property
    def shifts(self) -> Array:
        return self._components[0]

    @property
    def left_out(self) -> float:
        return self._components[2]

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Points with at most the tail of the base below, and of the mixture above."""
        shifts, log_weights, _ = self._components
        weights = np.exp(log_weights)
        below, above = -1.0, float(shifts[-1]) + 40.0
        while above - below > 1e-3 + 1e-9 * above:
            middle = (above + below) / 2
            if float(weights @ ndtr(shifts - middle)) > self.tail / 2:
                below = middle
            else:
                above = middle
        return float(ndtri(self.tail / 2)), above

    def loss(self, y: Array) -> tuple[Array, Array]:
        """log(mixture/base) at y, and its slope."""
        shifts, log_weights, _ = self._components
        value, slope = np.empty_like(y), np.empty_like(y)
        for part in _parts(len(y), len(shifts)):
            terms = log_weights - shifts**2 / 2 + shifts * y[part, None]
            top = terms.max(axis=1, keepdims=True)
            terms = np.exp(terms - top)
            total = terms.sum(axis=1)
            value[part] = top[:, 0] + np.log(total)
            slope[part] = terms @ shifts / total
        return value, slope

    def spread(self) -> float:
        """The standard deviation of the loss under the base or the mixture, whichever is less."""
        low, high = self.ends
        y = np.linspace(low, high, 4001)
        loss, _ = self.loss(y)
        log_base = -(y**2) / 2
        deviations = []
        for log_density in (log_base, log_base + loss):
            density = np.exp(log_density - log_density.max())
            density /= density.sum()
            mean = float(density @ loss)
            deviations.append(math.sqrt(max(0.0, float(density @ (loss - mean) ** 2))))
        return min(deviations)

    def span(self) -> float:
        """How far the losses reach, up to the tails."""
        low, high = self.loss(np.array(self.ends))[0]
        return float(high - low)

    def losses(self, step: float) -> tuple[Losses, Losses]:
        """The losses log(mixture/base) under the mixture and log(base/mixture) under the base, on a grid.

        Between two points of the grid the mass is split such that both laws keep theirs. Guarantee: the
        hockey-stick curve of the result is exact on the grid and above the true one elsewhere, also after
        composition (Doroshenko et al. 2022, "Connect the dots").
        """
        low, high = self.ends
        bottom, top = self.loss(np.array([low, high]))[0]
        first, last = math.floor(bottom / step), math.ceil(top / step)
        last = max(last, first + 2)
        edge = np.concatenate([[low], self._inverse(step * np.arange(first + 1, last)), [high]])
        base, mixture = self._masses(edge)
        grid = step * np.arange(first, last + 1)
        with_mixture = _split(mixture, base, grid[:-1], step)
        # The tail's losses lie below the second point of the grid, so that is where it is rounded up to.
        with_mixture[1] += self._mixture_below(low)
        with_base = _split(base[::-1], mixture[::-1], -grid[:0:-1], step)
        with_base[1] += float(ndtr(-high))
        return (
            Losses(first, with_mixture, self._mixture_above(high) + self.left_out),
            Losses(-last, with_base, float(ndtr(low))),
        )

    def _inverse(self, losses: Array) -> Array:
        """Where the loss takes these values: it rises and is convex, so Newton's steps end at the root."""
        low, high = self.ends
        table = np.linspace(low, high, 2049)
        y = np.interp(losses, self.loss(table)[0], table)
        open = np.arange(len(y))
        for _ in range(_NEWTON_STEPS):
            value, slope = self.loss(y[open])
            # By the loss, not by y: where the loss hardly rises y is not known better, nor needed.
            off = value - losses[open]
            far = np.abs(off) > _PRECISION * np.maximum(1.0, np.abs(losses[open]))
            if not far.any():
                break
            # Only those that are still off: a few points of a large group never get so close.
            open, off, slope = open[far], off[far], slope[far]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                moved = np.clip(y[open] - off / slope, low, high)
            y[open] = np.where(np.isfinite(moved), moved, y[open])
        return np.maximum.accumulate(y)

    def _masses(self, edge: Array) -> tuple[Array, Array]:
        """What base and mixture have between each two edges."""
        shifts, log_weights, _ = self._components
        mixture = np.zeros(len(edge) - 1)
        for shift, weight in zip(shifts, np.exp(log_weights), strict=True):
            mixture += weight * _mass_between(edge - shift)
        return _mass_between(edge), mixture

    def _mixture_below(self, y: float) -> float:
        shifts, log_weights, _ = self._components
        return float(np.exp(log_weights) @ ndtr(y - shifts))

    def _mixture_above(self, y: float) -> float:
        shifts, log_weights, _ = self._components
        return float(np.exp(log_weights) @ ndtr(shifts - y))


def _mass_between(edge: Array) -> Array:
    """Standard normal mass between each two edges, which rise, from the tail that they lie in: no digits
    cancel there."""
    tail = ndtr(-np.abs(edge))
    mass = np.where(edge[:-1] > 0, tail[:-1] - tail[1:], tail[1:] - tail[:-1])
    around = np.flatnonzero((edge[:-1] <= 0) & (edge[1:] > 0))
    mass[around] = ndtr(edge[around + 1]) - tail[around]
    return np.asarray(mass)


def _split(first: Array, second: Array, loss: Array, step: float) -> Array:
    """The mass of the first law on the grid, of cells that start at ``loss``; the second keeps its own."""
    with np.errstate(over="ignore", invalid="ignore"):
        up = (first - np.exp(loss) * second) / -math.expm1(-step)
    # Rounding errors can leave the range; NaN is infinity times nothing, rounded up.
    up = np.clip(np.nan_to_num(up, nan=math.inf, posinf=math.inf), 0.0, first)
    mass = np.zeros(len(first) + 1)
    mass[:-1] += first - up
    mass[1:] += up
    return mass


def _parts(rows: int, columns: int) -> Iterator[slice]:
    size = max(1, _CHUNK // columns)
    return (slice(start, start + size) for start in range(0, rows, size))
