"""The same from a whole trade-off curve: which curves so many right guesses in one training refute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedward.auditing.noise_family import NoiseFamily

_CELLS = 800


@dataclass(frozen=True, kw_only=True, eq=False)
class Inverse:
    """For each true positive rate the least false positive rate that a trade-off curve allows with it.

    Both directions of the curve count, and what is between them, as the canaries are averaged over.
    """

    tpr: NDArray[np.float64]
    fpr: NDArray[np.float64]

    @classmethod
    def of(cls, most: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Inverse:
        """Of a function that says the largest true positive rate at each false positive rate."""
        fpr = np.concatenate([[0.0], np.geomspace(1e-12, 1e-3, 200), np.linspace(1e-3, 1.0, _CELLS)[1:]])
        tpr = most(fpr)
        # The other direction is the same curve, mirrored; above both lies their concave hull.
        points = np.concatenate([np.stack([fpr, tpr], 1), np.stack([1 - tpr, 1 - fpr], 1)])
        hull = _upper_hull(points[np.lexsort((points[:, 1], points[:, 0]))])
        return cls(tpr=hull[:, 1], fpr=hull[:, 0])

    def __call__(self, tpr: float) -> float:
        # Below what the curve has at 0 nothing is wrongly accused; the first of equal places counts.
        if tpr <= self.tpr[0]:
            return 0.0
        return float(np.interp(tpr, self.tpr, self.fpr))


def refutes(inverse: Inverse, canaries: int, guesses: int, right: int, error: float) -> bool:
    """Whether so many right guesses have a chance of less than ``error`` under a trade-off curve.

    Let p_i be the chance of exactly i right guesses of r, about m canaries. One canary's coin turned over
    makes one
    guess right that was wrong, so for every t, with f̄ = 1 - f,

        Σ_{i ≥ t} (i / m) p_i ≤ f̄(Σ_{i ≥ t - 1} ((r - i) / m) p_i)

    From p_v = ``error`` downwards this says how large p_{v-1}, p_{v-2}, ... have to be; if all of them
    together come to more than 1, that many right guesses are less likely than ``error``.

    Mahloujifar, Melis and Chaudhuri 2024, algorithm 3.
    """
    of_right = error * right / canaries
    of_wrong = error * (guesses - right) / canaries
    for i in range(right - 1, -1, -1):
        needed = max(of_wrong, inverse(min(1.0, of_right)))
        of_right += i / (guesses - i) * (needed - of_wrong)
        of_wrong = needed
        if of_right + of_wrong > guesses / canaries:
            return True
    return False


def one_run_family_epsilon(
    family: NoiseFamily, canaries: int, guesses: int, right: int, error: float
) -> float:
    """ε at δ of the most private member of a family that allows so many right guesses in one training."""

    def refuted(noise: float) -> bool:
        inverse = Inverse.of(lambda fpr: family.curve(noise, fpr))
        return refutes(inverse, canaries, guesses, right, error)

    return family.least_epsilon_where(refuted)


def _upper_hull(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The upper concave hull of points in order of their first coordinate."""
    hull: list[tuple[float, float]] = []
    for x, y in points.tolist():
        while hull and hull[-1][0] == x and hull[-1][1] <= y:
            hull.pop()
        while len(hull) > 1:
            (a, b), (c, d) = hull[-2:]
            if (d - b) * (x - a) > (y - b) * (c - a):
                break
            hull.pop()
        if not hull or hull[-1][0] < x:
            hull.append((x, y))
    found = np.array(hull)
    # Where the curve no longer rises there is nothing to invert.
    rising = np.concatenate([[True], np.diff(found[:, 1]) > 0])
    kept: NDArray[np.float64] = found[rising]
    return kept
