"""Scores of trainings that are learned from other trainings: for leaks that no event speaks of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedward.attacks.inference.auc import Floats
from fedward.base.validate import InvalidValue

_BINS = 24


@dataclass(frozen=True, kw_only=True, eq=False)
class DensityScore:
    """The likelihood ratio of one number a round, from two histograms.

        score = Σ_t log(p_in(u_t) / p_out(u_t)),    u_t = (x_t - centre_t) / scale_t

    Rounds are taken to be independent, and alike once they are standardised. It assumes nothing that
    matters: a bad
    score proves less, and never something wrong, as long as the trainings it is learned from are others than
    those it is used on.
    """

    centre: Floats
    scale: Floats
    cuts: Floats
    log_ratio: Floats

    @classmethod
    def learn(cls, inside: Floats, outside: Floats) -> DensityScore:
        """From tables with one row for each training and one column for each round."""
        if inside.ndim != 2 or inside.shape[1:] != outside.shape[1:]:
            raise InvalidValue("two tables with the same rounds are needed to learn a score")
        both = np.concatenate([inside, outside])
        centre, scale = both.mean(axis=0), both.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        a, b = (((table - centre) / scale).ravel() for table in (inside, outside))
        bins = min(_BINS, max(2, int(np.sqrt(len(a) + len(b)) / 2)))
        cuts = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0, 1, bins + 1)[1:-1]))
        counts = [np.bincount(np.searchsorted(cuts, x), minlength=len(cuts) + 1) + 0.5 for x in (a, b)]
        shares = [each / each.sum() for each in counts]
        return cls(centre=centre, scale=scale, cuts=cuts, log_ratio=np.log(shares[0] / shares[1]))

    def __call__(self, table: Floats) -> Floats:
        places = np.searchsorted(self.cuts, (table - self.centre) / self.scale)
        found: Floats = self.log_ratio[places].sum(axis=1)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearScore:
    """The linear discriminant of several numbers, standardised.

        score = wᵀ x,    w = (Σ + r I)⁻¹ (μ_in - μ_out)

    Fisher 1936.
    """

    centre: Floats
    scale: Floats
    weights: Floats

    @classmethod
    def learn(cls, inside: Floats, outside: Floats, ridge: float = 1e-6) -> LinearScore:
        """From tables with one row for each training and one column for each number."""
        both = np.concatenate([inside, outside])
        centre, scale = both.mean(axis=0), both.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        a, b = (inside - centre) / scale, (outside - centre) / scale
        within = (np.cov(a, rowvar=False) + np.cov(b, rowvar=False)) / 2
        covariance = np.atleast_2d(within) + ridge * np.eye(a.shape[1])
        weights: NDArray[np.float64] = np.linalg.solve(covariance, a.mean(axis=0) - b.mean(axis=0))
        return cls(centre=centre, scale=scale, weights=weights)

    def __call__(self, table: Floats) -> Floats:
        found: Floats = ((table - self.centre) / self.scale) @ self.weights
        return found
