"""Strategies of banded matrix factorisation: coefficients that make the error of all rounds' models small."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.signal import lfilter

from fedward.base.validate import half_open_unit, rate, whole

Array = np.ndarray[Any, np.dtype[np.float64]]

# Coefficients are multiples of this, so that exact noise has a grid that they stay on.
STEPS = 1 << 10


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What a server makes of the means that it gets: the models of all rounds, as a matrix.

        v_t = β v_(t-1) + x_t,    w_t = w_(t-1) + γ^t v_t,    w = A x

    Args:
      rounds: T.
      momentum: β.
      decay: γ.
    """

    rounds: int
    momentum: float = 0.0
    decay: float = 1.0

    def __post_init__(self) -> None:
        whole("rounds", self.rounds)
        half_open_unit("server momentum", self.momentum)
        rate("learning rate decay", self.decay)

    def matrix(self) -> Array:
        """A itself, for small T: what the tests compare with."""
        t = np.arange(self.rounds)
        powers = np.where(t[:, None] >= t, self.momentum ** np.maximum(0, t[:, None] - t), 0.0)
        return np.asarray(np.cumsum(self.decay ** t[:, None] * powers, axis=0))

    def response(self) -> tuple[Array, Array]:
        """a and w with A C^-1 = (γ^s F_(t-s)), F = a / c̃, c̃_k = γ^k c_k, and Σ F_k² w_k its squared norm.

        Proof: A C^-1 at (t, s) is Σ_(u=s..t) γ^u g_(u-s) with g the response of momentum and C^-1, which is
        γ^s times the sum of γ^j g_j for j up to t - s; and γ^j g_j is the response of the filter whose k-th
        coefficients are γ^k times as large.
        """
        t, impulse = np.arange(self.rounds), np.zeros(self.rounds)
        impulse[0] = 1.0
        a = np.cumsum(lfilter([1.0], [1.0, -self.momentum * self.decay], impulse))
        w = np.cumsum(self.decay ** (2.0 * t))[::-1]
        return np.asarray(a), np.asarray(w)


@lru_cache(maxsize=64)
def optimise_bands(workload: Workload, bands: int) -> tuple[float, ...]:
    """The coefficients c of a banded Toeplitz C with the least error for its sensitivity; c_0 = 1.

        minimise ‖A C^-1‖_F² ‖c‖²

    The error of the models is that of the noise C^-1 z, and how much z must be follows from the norm of a
    column. L-BFGS from several points, one of them the square root of prefix sums,
    with the exact gradient: dF/dc̃_k = -F / c̃, k rounds later.

    >>> optimise_bands(Workload(rounds=100), 1)
    (1.0,)
    >>> [round(c, 3) for c in optimise_bands(Workload(rounds=64), 3)]
    [1.0, 0.703, 0.579]

    Choquette-Choo et al. 2023; McKenna 2024 for the Toeplitz form.
    """
    whole("bands", bands)
    if bands == 1:
        return (1.0,)
    from scipy.optimize import minimize  # commands that train nothing do without

    a, w = workload.response()
    scale = workload.decay ** np.arange(1, bands)

    def loss(free: Array) -> tuple[float, Array]:
        c = np.concatenate([[1.0], free * scale])
        with np.errstate(over="ignore", invalid="ignore"):
            f = lfilter([1.0], c, a)
            error = float(w @ f**2)
            further = lfilter([1.0], c, f)
        if not math.isfinite(error):
            return 1e300, np.zeros(len(free))
        norm = 1.0 + float(free @ free)
        weighted = w * f
        slopes = np.array([weighted[k:] @ further[: len(f) - k] for k in range(1, bands)])
        return math.log(error) + math.log(norm), -2.0 * slopes * scale / error + 2.0 * free / norm

    k = np.arange(1, bands)
    root = np.cumprod((2.0 * k - 1.0) / (2.0 * k))
    options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10}
    # Few bands over many rounds want a slow decay, from which the way to it leads past worse ones.
    starts = (root, 0.8**k, 0.95**k, 0.99**k)
    found = (minimize(loss, start, jac=True, method="L-BFGS-B", options=options) for start in starts)
    return (1.0, *map(float, min(found, key=lambda each: float(each.fun)).x))


@lru_cache(maxsize=64)
def banded_strategy(workload: Workload, bands: int) -> tuple[int, ...]:
    """The best coefficients in multiples of 1/1024, as whole numbers; the first is 1024."""
    return tuple(round(c * STEPS) for c in optimise_bands(workload, min(bands, workload.rounds)))


def root_mean_error(workload: Workload, coefficients: tuple[float, ...]) -> float:
    """The error of a model, over all rounds, with noise C^-1 z ‖c‖ and z of standard deviation 1.

        √(‖A C^-1‖_F² / T) ‖c‖

    >>> work = Workload(rounds=64)
    >>> [round(root_mean_error(work, optimise_bands(work, bands)), 3) for bands in (1, 4, 16)]
    [5.701, 3.241, 2.35]
    """
    a, w = workload.response()
    c = np.asarray(coefficients) * workload.decay ** np.arange(len(coefficients))
    f = lfilter([1.0], c, a)
    return math.sqrt(float(w @ f**2) / workload.rounds) * math.hypot(*coefficients)
