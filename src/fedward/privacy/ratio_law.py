"""Laws of likelihood ratios on a grid whose points grow by a factor: sums of them, never closer to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedward.privacy.sampled_gaussian import Array

_UNIT = 2.0**-53


@dataclass(frozen=True, eq=False, kw_only=True)
class RatioLaw:
    """A law on the points e^(step i), with some mass at 0, and some of its mean at infinity.

    It stands for the law of a number X >= 0 and is *wider*: for each convex function φ, falling or rising,
    that the hockey-stick divergences are made of,

        E[φ(X)] <= (1 + error) E[φ(this law, each of its points larger or smaller by a factor 1 ± blur)].

    Args:
      step: of the grid, in logarithms.
      first: the index of the first point.
      mass: at each point.
      zero: at 0.
      beyond: E[X; X infinite]: what a mass that goes to 0 carries to points that go to infinity.
      error: how much too small a mass may be, relative to itself.
      blur: how far off points may be, relative to themselves.
    """

    step: float
    first: int
    mass: Array
    zero: float
    beyond: float
    error: float
    blur: float

    @property
    def points(self) -> Array:
        """The logarithms of the points."""
        return self.step * np.arange(self.first, self.first + len(self.mass), dtype=np.float64)


def add(one: RatioLaw, other: RatioLaw, tail: float) -> RatioLaw:
    """The law of the sum of two independent numbers.

        e^(step i) + e^(step (i - d)) = e^(step (i + s_d)),    s_d = log(1 + e^(-step d)) / step

    A sum lies between two points of the grid and is split between them so that its mean stays what it was,
    which no convex function shrinks. All terms are positive: no digits cancel, in the tails neither.

    Args:
      tail: how much mass and mean each end may lose to 0 and to infinity.

    >>> coin = RatioLaw(step=math.log(2.0), first=0, mass=np.array([0.5, 0.5]), zero=0.0, beyond=0.0,
    ...                 error=0.0, blur=0.0)
    >>> add(coin, coin, 0.0).mass.round(3).tolist()  # of 2, 3 and 4
    [0.5, 0.5]
    """
    step, low = one.step, min(one.first, other.first)
    size = max(law.first + len(law.mass) for law in (one, other)) - low
    a, b = _on(one, low, size), _on(other, low, size)
    reach = math.ceil(math.log(2.0) / step) + 2
    mass = np.zeros(size + reach)
    mass[:size] += one.zero * b + other.zero * a
    apart = np.arange(size) * step
    above = np.log1p(np.exp(-apart))
    whole = np.floor(above / step).astype(np.int64)
    shares = np.clip(np.expm1(above - whole * step) / math.expm1(step), 0.0, 1.0)
    for d in range(size):
        both = a[d:] * b[: size - d]
        if d:
            both += a[: size - d] * b[d:]
        up, start = float(shares[d]), d + int(whole[d])
        mass[start : start + size - d] += (1.0 - up) * both
        mass[start + 1 : start + 1 + size - d] += up * both
    total = RatioLaw(
        step=step,
        first=low,
        mass=mass,
        zero=one.zero * other.zero,
        # The other number has a mass of 1, and of so little more by what its ends were counted twice for.
        beyond=(one.beyond + other.beyond) * (1.0 + 1e-6),
        error=one.error + other.error + (2 * size + 16) * _UNIT,
        blur=max(one.blur, other.blur) + 32 * _UNIT,
    )
    return cut_ends(total, tail)


def cut_ends(law: RatioLaw, tail: float) -> RatioLaw:
    """The law without its outermost points.

    Mass at the low end counts twice, at 0 and at the first point that stays: whatever a split between them
    that keeps its mean would be, it gets no more. Mass at the high end stays at the last point, and all of
    its mean counts at infinity besides.
    """
    below, size = np.cumsum(law.mass), len(law.mass)
    first = min(int(np.searchsorted(below, tail, side="right")), size - 1)
    with np.errstate(over="ignore"):
        means = law.mass * np.exp(law.points)
    above = np.cumsum(means[::-1])[::-1]
    last = max(first, size - 1 - int(np.searchsorted(above[::-1], tail, side="right")))
    mass = law.mass[first : last + 1].copy()
    low, high = float(law.mass[:first].sum()), float(law.mass[last + 1 :].sum())
    mass[0] += low
    mass[-1] += high
    beyond = law.beyond + (float(above[last + 1]) if last + 1 < size else 0.0) * (1.0 + 1e-9)
    return RatioLaw(
        step=law.step,
        first=law.first + first,
        mass=mass,
        zero=law.zero + low,
        beyond=beyond,
        error=law.error,
        blur=law.blur,
    )


def _on(law: RatioLaw, low: int, size: int) -> Array:
    """The masses of a law on the points from ``low`` on."""
    padded = np.zeros(size)
    padded[law.first - low : law.first - low + len(law.mass)] = law.mass
    return padded
