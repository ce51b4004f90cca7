"""Laws of privacy losses on a grid: their sums, and the hockey-stick curve of a law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from fedward.privacy.sampled_gaussian import Array

# Orders of Chernoff's bound, in units of one over the sum's standard deviation.
_ORDERS = np.geomspace(0.25, 30.0, 16)


@dataclass(frozen=True, eq=False)
class Losses:
    """A law of privacy losses on a grid: ``mass[i]`` at (first + i) steps, the rest at infinity."""

    first: int
    mass: Array
    infinite: float


def compose(parts: Sequence[tuple[Losses, int]], tail: float) -> Losses:
    """The law of the sum of all losses, each part as often as said.

    Guarantee: what lies above the window (at most ``tail``, by Chernoff) is added to the infinite losses,
    although it is also wrapped around into the window. What lies below is wrapped to larger losses. So the
    hockey-stick curve of the result is never below the true one but for rounding.

    >>> coin = Losses(-1, np.array([0.5, 0.0, 0.5]), 0.0)
    >>> compose([(coin, 2)], 1e-13).mass.round(3).tolist()
    [0.25, 0.0, 0.5, 0.0, 0.25]
    """
    infinite = -math.expm1(sum(count * math.log1p(-min(part.infinite, 1.0 - 1e-16)) for part, count in parts))
    first = sum(count * part.first for part, count in parts)
    if len(parts) == 1 and parts[0][1] == 1:
        return Losses(first, parts[0][0].mass, infinite)
    low, high = window(parts, tail)
    length = next_fast_len(high - low + 1, real=True)
    spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
    for part, count in parts:
        spectrum *= rfft(wrap_mass(part.mass, length)) ** count
    whole = irfft(spectrum, length)
    mass = np.maximum(0.0, np.roll(whole, -(low % length))[: high - low + 1])
    # A power of a spectrum loses digits with each factor: what is missing in the sum is infinite too.
    missing = max(0.0, 1.0 - float(mass.sum()) - infinite)
    return Losses(first + low, mass, min(1.0, infinite + tail + missing))


def hockey_stick(losses: Losses, step: float) -> Array:
    """δ at ε = 0, step, 2 step, ... up to the largest loss; it does not fall below what is infinite.

        δ(ε) = Σ_{loss > ε} mass (1 - e^(ε - loss)) + infinite

    >>> hockey_stick(Losses(-1, np.array([0.5, 0.0, 0.25, 0.25]), 0.0), math.log(2.0)).tolist()
    [0.3125, 0.125, 0.0]
    """
    from scipy.signal import lfilter  # it imports most of scipy, and not every command comes here

    above = losses.mass[max(0, -losses.first) :]
    lead = max(0, losses.first)
    mass = np.concatenate([np.zeros(lead), above]) if len(above) else np.zeros(1)
    # From the top down; the mass at ε itself does not count.
    falling = mass[::-1]
    upper = np.cumsum(falling) - falling
    kept = math.exp(-step)
    lower = lfilter([0.0, kept], [1.0, -kept], falling)
    delta: Array = np.clip((upper - lower)[::-1] + losses.infinite, 0.0, 1.0)
    return np.maximum.accumulate(delta[::-1])[::-1].copy()


def window(parts: Sequence[tuple[Losses, int]], tail: float) -> tuple[int, int]:
    """Indices that the sum leaves with probability at most ``tail`` above, and as much below."""
    end = sum(count * (len(part.mass) - 1) for part, count in parts)
    variance = sum(count * _variance(part.mass) for part, count in parts)
    if variance == 0:
        return 0, end
    orders = _ORDERS / math.sqrt(variance)
    rising = sum(count * _log_moments(part.mass, orders) for part, count in parts)
    falling = sum(count * _log_moments(part.mass, -orders) for part, count in parts)
    high = min(end, math.ceil(np.min((rising - math.log(tail)) / orders)))
    low = max(0, math.floor(np.max((math.log(tail) - falling) / orders)))
    return low, max(high, low)


def _log_moments(mass: Array, orders: Array) -> Array:
    """log Σ_i mass[i] e^(order i) at each order."""
    with np.errstate(divide="ignore"):
        log_mass, index = np.log(mass), np.arange(len(mass))
    # One order after the other: all at once would take gigabytes on a fine grid.
    moments = np.empty_like(orders)
    for place, order in enumerate(orders):
        terms = log_mass + order * index
        top = terms.max()
        moments[place] = top + np.log(np.exp(terms - top).sum())
    return moments


def _variance(mass: Array) -> float:
    index = np.arange(len(mass))
    weight = mass / mass.sum()
    return float(weight @ (index - weight @ index) ** 2)


def wrap_mass(mass: Array, length: int) -> Array:
    """The mass at its index modulo ``length``."""
    turns = -(-len(mass) // length)
    padded = np.zeros(turns * length)
    padded[: len(mass)] = mass
    return np.asarray(padded.reshape(turns, length).sum(axis=0))
