"""Strategies of buffered linear Toeplitz matrices (BLT): a few decaying buffers, whatever the rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.signal import lfilter

from fedward.base.validate import InvalidType, InvalidValue, half_open_unit, non_negative, whole
from fedward.mechanisms.banded_strategy import Workload
from fedward.privacy.participation import Participation

Array = np.ndarray[Any, np.dtype[np.float64]]

MOST_BUFFERS = 6
# What adding up the coefficients may lose.
_ROUNDING = 1.0 + 1e-9


@dataclass(frozen=True, kw_only=True)
class Buffers:
    """The coefficients of a lower triangular Toeplitz matrix C, by buffers that decay.

        c_0 = 1,    c_k = Σ_i ω_i λ_i^(k-1)

    They are not negative and never grow, which the sensitivity rests on: so no ω is negative, they add up to
    1 at most, and every λ is below 1.

    Args:
      weights: ω.
      decays: λ.

    >>> Buffers(weights=(0.5,), decays=(0.5,)).coefficients(4).tolist()
    [1.0, 0.5, 0.25, 0.125]

    Dvijotham, McMahan, Pillutla, Steinke and Thakurta 2024.
    """

    weights: tuple[float, ...]
    decays: tuple[float, ...]

    def __post_init__(self) -> None:
        check_decays(self.decays)
        for weight in self.weights:
            non_negative("weight of a buffer", weight)
        if len(self.weights) != len(self.decays):
            raise InvalidValue(
                f"weights must be as many as decays, {len(self.decays)}, got {len(self.weights)}"
            )
        if math.fsum(self.weights) > 1.0:
            raise InvalidValue(
                f"weights of buffers must add up to at most 1, or coefficients grow, got {self.weights}"
            )

    def coefficients(self, rounds: int) -> Array:
        """c_0 to c_(T-1)."""
        impulse = np.zeros(rounds)
        impulse[0] = 1.0
        return self.times(impulse)

    def times(self, x: Array) -> Array:
        """C x."""
        buffers = zip(self.weights, self.decays, strict=True)
        return np.asarray(x + sum(lfilter([0.0, weight], [1.0, -decay], x) for weight, decay in buffers))

    def solve(self, x: Array) -> Array:
        """C^-1 x, by one recurrence: C is a ratio of two polynomials in the shift."""
        below = np.array([1.0])
        for decay in self.decays:
            below = np.convolve(below, [1.0, -decay])
        above = below.copy()
        for place, weight in enumerate(self.weights):
            others = np.array([0.0, weight])
            for decay in (*self.decays[:place], *self.decays[place + 1 :]):
                others = np.convolve(others, [1.0, -decay])
            above[: len(others)] += others
        return np.asarray(lfilter(below, above, x))

    def sensitivity(self, rounds: int, schema: Participation) -> float:
        """How far one user can move C x whose rows have norm at most 1, over the whole training.

            Δ = ‖Σ_(j<r) C_(jb)‖,    the columns of the first rounds that the schema allows

        Guarantee: no participation within the schema moves it further, since the columns are not negative
        and never grow: moved to earlier rounds, and nearer to each other, they overlap no less.

        Choquette-Choo et al. 2023; Kalinin and Lampert 2024, theorem 2.
        """
        taking_part = np.zeros(whole("rounds", rounds))
        taking_part[: schema.most * schema.separation : schema.separation] = 1.0
        return float(np.linalg.norm(self.times(taking_part))) * _ROUNDING


def check_decays(decays: tuple[float, ...]) -> None:
    """Refuses what are no decays of buffers."""
    if not isinstance(decays, list | tuple):
        raise InvalidType(f"decays must be a list of numbers, got {decays!r}")
    if not 1 <= len(decays) <= MOST_BUFFERS:
        raise InvalidValue(f"decays must be from 1 to {MOST_BUFFERS} numbers, got {len(decays)}")
    for decay in decays:
        half_open_unit("decay of a buffer", decay)
    if len(set(decays)) < len(decays):
        raise InvalidValue(f"decays must differ, or two buffers are one, got {tuple(decays)}")


@lru_cache(maxsize=64)
def optimise_buffers(
    workload: Workload, schema: Participation, buffers: int, decays: tuple[float, ...] | None = None
) -> Buffers:
    """The weights, and the decays unless they are given, with the least error for their sensitivity.

        minimise ‖A C^-1‖_F² Δ²

    L-BFGS from two points over logarithms, so that every point on the way is allowed.

    >>> work, schema = Workload(rounds=64), Participation(most=1, separation=64)
    >>> [round(buffered_error(work, schema, optimise_buffers(work, schema, n)), 2) for n in (1, 2, 3)]
    [2.22, 2.18, 2.18]

    McMahan, Xu and Zhang 2024.
    """
    from scipy.optimize import minimize  # commands that train nothing do without

    free = 2 * buffers if decays is None else buffers

    def loss(x: Array) -> float:
        return math.log(buffered_error(workload, schema, _buffers(x, buffers, decays)))

    starts = [np.zeros(free), np.linspace(-2.0, 3.0, free)]
    if decays is None:  # slow ones and fast ones
        starts = [np.concatenate([np.zeros(buffers), np.linspace(low, 4.0, buffers)]) for low in (-1.0, 1.5)]
    bounds = [(-12.0, 12.0)] * free
    found = (
        minimize(loss, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-12}) for start in starts
    )
    return _buffers(min(found, key=lambda each: float(each.fun)).x, buffers, decays)


def buffered_error(workload: Workload, schema: Participation, buffers: Buffers) -> float:
    """The error of a model, over all rounds, with noise of standard deviation 1 for a participation.

    √(‖A C^-1‖_F² / T) Δ / √r, on the scale of ``banded_strategy.root_mean_error``.
    """
    a, w = workload.response()
    slower = Buffers(
        weights=tuple(weight * workload.decay for weight in buffers.weights),
        decays=tuple(decay * workload.decay for decay in buffers.decays),
    )
    f = slower.solve(a)
    moved = buffers.sensitivity(workload.rounds, schema) / math.sqrt(schema.most)
    return math.sqrt(float(w @ f**2) / workload.rounds) * moved


def _buffers(x: Array, buffers: int, decays: tuple[float, ...] | None) -> Buffers:
    """Weights that add up to less than 1, and decays below 1, from any numbers."""
    shares = np.exp(x[:buffers] - max(0.0, float(x[:buffers].max())))
    rest = math.exp(-max(0.0, float(x[:buffers].max())))
    weights = shares / (float(shares.sum()) + rest) * (1.0 - 1e-12)
    if decays is None:
        decays = tuple(float(decay) for decay in np.sort(1.0 / (1.0 + np.exp(-x[buffers:]))))
        # The optimiser may bring two together; they must differ to be buffers of their own.
        decays = tuple(decay * (1.0 - 1e-9 * place) for place, decay in enumerate(decays))
        order = np.argsort(x[buffers:], kind="stable")
        weights = weights[order]
    return Buffers(weights=tuple(map(float, weights)), decays=tuple(decays))
