"""Sums of privacy losses under an exponential tilt, and their ε at a δ of any size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from fedward.privacy.losses import Losses, window, wrap_mass
from fedward.privacy.sampled_gaussian import Array

Parts = Sequence[tuple[Losses, int]]

_UNIT = 2.0**-53
# What one output of a transform of length n may be off by, in units of 2^-53 log2(n) times the sum of the
# inputs' sizes. A butterfly a ± w b of two rounded numbers is off by at most 5 of them: 1 for the sum, √5 for
# the product and √2 for w itself. The passes of three, four and five inputs that are used too need less than
# 8 for each factor of two.
_TRANSFORM = 8.0
# A power x^n of a complex number as exp(n log x): its angle, at most π, is off by 2 roundings, n times.
_POWER = 16.0
# Relative errors of one release's mass and its tilt: half of it each.
_MASS = 2.0**-39
# What the window of the tilted sum leaves out above it.
_TAIL = 1e-20
# The largest tilt is this a step of the grid: losses that are next to each other stay comparable.
_LOWEST_TILT, _MOST_A_STEP = 1e-4, 10.0
_BLOCK = 2**12


def find_epsilon(parts: Parts, step: float, delta: float) -> float:
    """The least ε, which may be negative, whose hockey-stick divergence is at most δ.

        δ(ε) = Σ_j P_j max(0, 1 - e^(ε - l_j)),    P_j = P̃_j e^(K - θ l_j)

    P̃ is the law of the sum of all losses, each tilted by e^(θ loss) and normalised; K is the sum of the
    logarithms of what they were divided by. A Fourier transform finds every P̃_j but for an absolute error E.
    Taken back, E e^(K - θ l_j) is small next to P_j, since θ made the losses near ε the usual ones. Without a
    tilt every mass would be off by E itself, and nothing could be said about a δ that is not far larger.

    Guarantee: the ε is never too small. Every P̃_j is replaced by the most it can be, P̃_j + E (``_sum``). What
    lies above the window is at most ``_TAIL`` of the tilted law, so e^(K - θ l_last) times that of the law
    itself; it counts as infinite. What lies below counts at no ε of the window, or is wrapped to larger
    losses. Masses and tilts, right to a relative 2^-39 a release, are paid for by so much less δ.

    Args:
      parts: laws on the grid, and how often each is added.
      step: of the grid.
      delta: δ, as small as 1e-200. The infinite losses of all parts must be less.

    >>> coin = Losses(-1, np.array([0.25, 0.0, 0.75]), 0.0)
    >>> round(find_epsilon([(coin, 2)], math.log(3.0), 0.5) / math.log(3.0), 6)
    0.0
    """
    releases = sum(count for _, count in parts)
    log_delta = math.log(delta) - (releases + 16) * _MASS
    # One release alone is not summed, and needs no tilt.
    tilt = _best_tilt(parts, step, log_delta) if releases > 1 else 0.0
    tilted, centre, log_scale = _tilt(parts, step, tilt)
    first, mass, error, left_out = _sum(tilted)
    # Counted from the tilted mean, so that exponents are small numbers.
    place = np.arange(len(mass), dtype=np.float64) + (first - centre)
    exponent = log_scale - tilt * step * place - log_delta
    # Beyond this, far below ε, the errors alone are more than the whole δ.
    share = (mass + error) * np.exp(np.minimum(exponent, 600.0))
    infinite = -math.expm1(sum(count * math.log1p(-law.infinite) for law, count in parts))
    infinite = infinite * math.exp(-log_delta) + left_out * math.exp(min(float(exponent[-1]), 600.0))
    return step * centre + _find_crossing(step * place, share, infinite)


def _best_tilt(parts: Parts, step: float, log_delta: float) -> float:
    """The tilt whose mean is about ε: where Chernoff's bound on ε is least. Any other is safe as well."""
    from scipy.optimize import minimize_scalar  # other accountants do without

    with np.errstate(divide="ignore"):
        logs = [np.log(law.mass) for law, _ in parts]

    def bound(log_tilt: float) -> float:
        tilt = math.exp(log_tilt)
        moments = (
            count
            * (_log_sum(log, tilt * step * np.arange(len(log), dtype=np.float64)) + tilt * step * law.first)
            for (law, count), log in zip(parts, logs, strict=True)
        )
        return (sum(moments) - log_delta) / tilt

    limits = (math.log(_LOWEST_TILT), math.log(_MOST_A_STEP / step))
    found = minimize_scalar(bound, bounds=limits, method="bounded", options={"xatol": 0.05})
    return math.exp(found.x)


def _tilt(parts: Parts, step: float, tilt: float) -> tuple[list[tuple[Losses, int]], int, float]:
    """The tilted laws, the point of the grid about which they were tilted, and what they were scaled by.

    Taken back by e^(log_scale - tilt step (index - centre)), however scale and centre were rounded.
    """
    tilted, centre, log_scale = [], 0, 0.0
    for law, count in parts:
        index = np.arange(len(law.mass), dtype=np.float64)
        with np.errstate(divide="ignore"):
            log = np.log(law.mass)
        middle = round(float(_times_exp(law.mass, log, tilt * step * index)[0] @ index))
        mass, log_sum = _times_exp(law.mass, log, tilt * step * (index - middle))
        tilted.append((Losses(law.first, mass, 0.0), count))
        centre += count * (law.first + middle)
        log_scale += count * log_sum
    return tilted, centre, log_scale


def _times_exp(mass: Array, log_mass: Array, exponent: Array) -> tuple[Array, float]:
    """mass e^exponent divided by its sum, and the logarithm of the sum."""
    log_sum = _log_sum(log_mass, exponent)
    # In two steps, since a mass of 1e-200 may become a usual one: the exponential alone would overflow.
    root = np.exp(np.minimum(exponent - log_sum, 1400.0) / 2)
    return mass * root * root, log_sum


def _log_sum(log_mass: Array, exponent: Array) -> float:
    """log Σ_i e^(log_mass[i] + exponent[i])."""
    terms = log_mass + exponent
    top = float(terms.max())
    terms -= top
    return top + math.log(float(np.exp(terms, out=terms).sum()))


def _sum(parts: Parts) -> tuple[int, Array, float, float]:
    """The law of the sum: its first index, its masses, what each may be short of, what lies above them.

    A transform x of masses that sum to 1 is off by e = 8u log2(n) at most, and |x^c - y^c| is at most
    c |x - y| max(|x|, |y|)^(c - 1); so much a frequency, and the transform back of what is left.
    """
    first = sum(count * part.first for part, count in parts)
    if len(parts) == 1 and parts[0][1] == 1:
        return first, parts[0][0].mass, 0.0, 0.0
    low, high = window(parts, _TAIL)
    length = next_fast_len(high - low + 1, real=True)
    once = _UNIT * (_TRANSFORM * math.log2(length) + _POWER)
    factors = (_transform(part, count, length, once) for part, count in parts)
    spectrum, most, off = next(factors)
    for factor, its_most, its_off in factors:
        spectrum *= factor
        most *= its_most
        off += its_off
    # Every frequency but the first stands for two.
    off += _UNIT * _TRANSFORM * math.log2(length)
    off *= most
    error = 2.0 * float(np.sum(off)) / length
    whole, start = irfft(spectrum, length), low % length
    mass = np.concatenate([whole[start:], whole[:start]])[: high - low + 1]
    np.maximum(0.0, mass, out=mass)
    return first + low, mass, error, _TAIL


def _transform(
    part: Losses, count: int, length: int, once: float
) -> tuple[np.ndarray[Any, np.dtype[np.complex128]], Array, Array]:
    """The transform of so many equal parts, the most that its sizes can be, and its error by those."""
    transform = rfft(wrap_mass(part.mass, length))
    size = np.abs(transform)
    size += 2 * once
    return transform**count, size**count, count * once / size


def _find_crossing(loss: Array, share: Array, infinite: float) -> float:
    """The ε at which Σ share max(0, 1 - e^(ε - loss)) + infinite falls to 1."""

    def spent(place: int) -> float:
        return infinite + float(np.sum(-np.expm1(loss[place] - loss[place + 1 :]) * share[place + 1 :]))

    # About where it is; the sums over all that lies above are what decides, next to it.
    below = _guess_crossing(loss, share, infinite)
    reach = 1
    while below > 0 and spent(below) <= 1.0:
        below, reach = max(0, below - reach), 2 * reach
    if below == 0 and spent(0) <= 1.0:
        return float(loss[0])
    above, reach = min(below + 1, len(loss) - 1), 1
    while above < len(loss) - 1 and spent(above) > 1.0:
        below, above, reach = above, min(above + reach, len(loss) - 1), 2 * reach
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if spent(middle) > 1.0 else (below, middle)
    # In between it is a straight line in e^ε.
    upper = infinite + float(np.sum(share[above:]))
    lower = float(np.sum(share[above:] * np.exp(loss[below] - loss[above:])))
    return float(loss[below]) + math.log((upper - 1.0) / lower)


def _guess_crossing(loss: Array, share: Array, infinite: float) -> int:
    """The last place at which the sum is above 1, or one near it; 0 if there is none.

    By blocks, whose sums of e^(-loss) need one exponential a place of one block.
    """
    size, step = min(_BLOCK, len(loss)), float(loss[1] - loss[0]) if len(loss) > 1 else 1.0
    blocks = np.zeros((-(-len(loss) // size), size))
    blocks.reshape(-1)[: len(share)] = share
    falling = np.exp(-step * np.arange(size))
    upper, lower = infinite, 0.0
    for block in blocks[::-1]:
        whole, inside = float(block.sum()), float(block @ falling)
        number = len(blocks) - 1
        below = lower * math.exp(-step * size)
        if upper + whole - inside - below > 1.0:
            # From each place of the block up.
            above = upper + np.cumsum(block[::-1])[::-1]
            weighted = np.cumsum((block * falling)[::-1])[::-1] + below
            found = np.flatnonzero(above - weighted / falling > 1.0)
            return 0 if not len(found) else number * size + int(found[-1])
        upper, lower, blocks = upper + whole, inside + below, blocks[:-1]
    return 0
