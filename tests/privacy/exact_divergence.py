"""The true δ(ε) of composed sampled Gaussians, by a contour integral in mpmath: no grid, no transform.

    δ(ε) = 1/(2πi) ∫ e^(Σ_p n_p K_p(s) - s ε) / (s (s + 1)) ds    over Re s = θ > 0
    K(s) = log E_P[e^(s loss)]

Both integrals, over s and over the release in K, are of analytic functions that fall off like a Gaussian: the
trapezoidal rule has all digits. With few rounds the first falls off slowly, and it takes its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import mpmath as mp

Rounds = Sequence[tuple[float, float, int]]
"""Sampling rate, noise multiplier and how often."""

_DIGITS = 30


def exact_delta(rounds: Rounds, epsilon: float, *, removed: bool = True) -> float:
    """δ of a user removed, or of one added."""
    return _exact(tuple(rounds), epsilon, removed)


@cache
def _exact(rounds: tuple[tuple[float, float, int], ...], epsilon: float, removed: bool) -> float:
    if not removed and epsilon >= sum(n * -mp.log1p(-q) if q < 1 else mp.inf for q, _, n in rounds):
        return 0.0  # no loss is larger
    with mp.workdps(_DIGITS):

        def log_moment(s: Any, theta: Any) -> Any:
            return mp.fsum(n * _log_moment(q, z, s, theta, removed) for q, z, n in rounds)

        def height(t: Any) -> Any:
            return log_moment(t, t) - t * epsilon - mp.log(t * (1 + t))

        # The saddle, roughly: along the real line the integrand falls to it and rises again.
        theta = mp.mpf(1) / 16
        while height(theta * 2 ** mp.mpf(0.5)) < height(theta):
            theta *= 2 ** mp.mpf(0.5)
        spread = mp.sqrt(_second_derivative(lambda t: log_moment(t, theta), theta))
        # Sums of losses that far off, 2π / step, are folded onto ε: rare and large ones must not be.
        step = min(1 / (6 * spread), theta / 8)
        total, place = mp.mpf(0), 0
        while True:
            s = mp.mpc(theta, place * step)
            term = mp.exp(log_moment(s, theta) - s * epsilon) / (s * (s + 1))
            total += term.real / (2 if place == 0 else 1)
            if place > 8 and abs(term) < mp.mpf(10) ** -20 * abs(total):
                return float(total * step / mp.pi)
            place += 1


def _log_moment(q: float, z: float, s: Any, theta: Any, removed: bool) -> Any:
    nodes = _nodes(q, z, int(mp.ceil(theta)) + 1, removed)
    return mp.log(mp.fsum(w * mp.exp((s + 1) * loss if removed else -s * loss) for w, loss in nodes))


@cache
def _nodes(q: float, z: float, order: int, removed: bool) -> list[tuple[Any, Any]]:
    """Weights of the base law, and the loss log(mixture/base), as far as the tilt may move them."""
    step = min(mp.mpf(1) / 4, mp.mpf(z) / 4)
    shift = order / mp.mpf(z)
    low, high = (14, 14 + shift) if removed else (14 + min(shift, 60), 14)
    nodes = []
    for place in range(int(-low / step), int(high / step) + 1):
        y = place * step
        ratio = y / z - 1 / (2 * mp.mpf(z) ** 2)
        loss = ratio if q == 1 else mp.log1p(mp.mpf(q) * mp.expm1(ratio))
        nodes.append((mp.exp(-(y**2) / 2) / mp.sqrt(2 * mp.pi) * step, loss))
    return nodes


def _second_derivative(function: Callable[[Any], Any], at: Any) -> Any:
    step = at / 1000
    return (function(at + step) - 2 * function(at) + function(at - step)) / step**2
