"""The most that any inference attack can find out under differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedward.attacks.inference.auc import Floats
from fedward.attacks.inference.roc import RATES, Point, Roc
from fedward.base.validate import InvalidValue, open_unit
from fedward.privacy.accountants import epsilon_of
from fedward.privacy.events import Adjacency
from fedward.privacy.group import group_curve
from fedward.privacy.spending import Spending

# Every line is a bound of its own, so leaving some out is safe; so many bring it within drawing accuracy.
_LINES = 4096
# Beyond this e^ε is out of floating point.
_MOST_EPSILON = 600.0
_DELTAS = tuple(float(delta) for delta in np.geomspace(1e-12, 0.3, 24))
# Rates that are looked at together: it bounds memory.
_CHUNK = 64
# Of the grid on which the area is summed.
_CELLS = 2000


@dataclass(frozen=True, kw_only=True, eq=False)
class Limit:
    """The largest true positive rate at each false positive rate, of any attack whatever.

        TPR <= min_ε e^ε FPR + δ_{in|out}(ε)    over all real ε;
        below 0: TPR <= 1 - e^-ε (1 - FPR - δ_{out|in}(ε))

    Guarantee: for the expected rates of an attack that sees the released models, and knows everything but
    what it asks about; ``in`` and ``out`` are the laws of the models with and without it. A measured curve
    may lie above by chance: ``crossed`` says whether by more than that.

    Args:
      about: which guarantee it comes from, in words; or why there is no limit.
      epsilon: ε of each line, from 0 up; none where there is no limit.
      forward: δ_{in|out} at these.
      backward: δ_{out|in} at these.
      twice: the bound goes through a third training, in which the user is absent: by add/remove adjacency
        other data of a user is one user less and one more.

    >>> coin = Limit(about="ε = log 3", epsilon=np.array([math.log(3)]), forward=np.zeros(1),
    ...              backward=np.zeros(1))
    >>> coin.most([0.0, 0.1, 0.25, 0.6]).round(3).tolist()
    [0.0, 0.3, 0.75, 0.867]

    Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015; Dong, Roth and Su 2022.
    """

    about: str
    epsilon: Floats
    forward: Floats
    backward: Floats
    twice: bool = False

    def __post_init__(self) -> None:
        if not self.epsilon.shape == self.forward.shape == self.backward.shape:
            raise InvalidValue("a limit must have two values of δ for each ε")

    @classmethod
    def none(cls, why: str) -> Limit:
        """Nothing is promised; ``why`` says so in words."""
        nothing = np.zeros(0)
        return cls(about=why, epsilon=nothing, forward=nothing, backward=nothing)

    @classmethod
    def of_curve(cls, spending: Spending, about: str, *, twice: bool = False) -> Limit:
        """From the whole trade-off curve of Gaussians, plain or Poisson-sampled: the tightest there is."""
        curve = group_curve(spending, 1)
        several = max(len(curve.mixture_over_base), len(curve.base_over_mixture))
        places = np.arange(min(several, int(_MOST_EPSILON / curve.step) + 1))
        if len(places) > _LINES:
            places = np.unique(np.linspace(0, len(places) - 1, _LINES).round().astype(np.int64))
        # The last value of a curve holds for every larger ε.
        forward, backward = (
            on_grid[np.minimum(places, len(on_grid) - 1)]
            for on_grid in (curve.mixture_over_base, curve.base_over_mixture)
        )
        epsilon = np.asarray(curve.step * places, dtype=np.float64)
        return cls(about=about, epsilon=epsilon, forward=forward, backward=backward, twice=twice)

    @classmethod
    def of_accountant(cls, spending: Spending, adjacency: Adjacency, about: str) -> Limit:
        """From (ε, δ) at many δ by the accountant ``rdp``, where no trade-off curve is known."""
        pairs = [(epsilon_of(spending, delta, "rdp", adjacency), delta) for delta in _DELTAS]
        kept = [(epsilon, delta) for epsilon, delta in pairs if epsilon <= _MOST_EPSILON]
        epsilon, deltas = (np.array(each) for each in zip(*kept, strict=True)) if kept else (np.zeros(0),) * 2
        return cls(about=about, epsilon=epsilon, forward=deltas, backward=deltas)

    @property
    def promised(self) -> bool:
        """Whether there is a limit at all."""
        return len(self.epsilon) > 0

    def most(self, fpr: Any) -> Floats:
        """The largest expected true positive rate at each false positive rate; 1 without a promise."""
        rates = np.asarray(fpr, dtype=np.float64)
        if not bool(((rates >= 0) & (rates <= 1)).all()):
            raise InvalidValue("false positive rates must be from 0 to 1")
        if self.twice:
            # The model without the user calls it positive at most so often...
            rates = _largest_tpr(rates, self.epsilon, self.backward, self.forward)
        return _largest_tpr(rates, self.epsilon, self.forward, self.backward)

    @cached_property
    def auc(self) -> float:
        """The largest expected area under the ROC curve: an upper sum, as the limit rises."""
        return float(self.most(np.linspace(0, 1, _CELLS + 1)[1:]).mean())

    def to_json(self) -> dict[str, Any]:
        """The limit at the usual rates, as plain values; null where nothing is promised."""
        return {
            "about": self.about,
            "tpr_at_fpr": {f"{rate:g}": float(self.most(rate)) for rate in RATES} if self.promised else None,
            "auc": self.auc if self.promised else None,
        }

    def crosses(self, point: Point) -> bool:
        """Whether a point lies above the limit by more than its confidence intervals explain."""
        return bool(point.tpr.low > self.most(point.fpr.high))

    def crossed(self, roc: Roc) -> tuple[str, ...]:
        """Where a measured curve is above the limit, chance allowed for: there a guarantee is broken."""
        if not self.promised:
            return ()
        area = ["AUC"] if roc.auc.low > self.auc else []
        return (*area, *(f"TPR at {point.rate:g} FPR" for point in roc.points if self.crosses(point)))


def two_sided(epsilon: float, delta: float, about: str) -> Limit:
    """The limit of one (ε, δ), as a reader of a guarantee can compute it.

    >>> two_sided(1.0, 1e-5, "by hand").most(0.01).round(4).tolist()
    0.0272
    """
    if not 0 <= epsilon < math.inf:
        raise InvalidValue(f"epsilon must be at least 0 and finite, got {epsilon}")
    deltas = np.array([open_unit("delta", delta)])
    return Limit(
        about=about, epsilon=np.array([min(epsilon, _MOST_EPSILON)]), forward=deltas, backward=deltas
    )


def _largest_tpr(rates: Floats, epsilon: Floats, forward: Floats, backward: Floats) -> Floats:
    if not len(epsilon):
        return np.ones_like(rates)
    fall = np.exp(-epsilon)
    slope = np.concatenate([np.exp(epsilon), fall])
    start = np.concatenate([forward, 1 - fall * (1 - backward)])
    best = np.ones(rates.size)
    for place in range(0, rates.size, _CHUNK):
        some = rates.ravel()[place : place + _CHUNK, None]
        best[place : place + _CHUNK] = (some * slope + start).min(axis=1)
    return np.minimum(1.0, best).reshape(rates.shape)
