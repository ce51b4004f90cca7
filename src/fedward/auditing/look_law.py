"""The law of what a clip bound shows of the noisy look at norms that it was made from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import log_ndtr, logsumexp
from scipy.stats import binom

from fedward.auditing.canary_direction import LOUD
from fedward.base.validate import rate, whole
from fedward.core.types import Bounds
from fedward.privacy.events import multiplier


@runtime_checkable
class ShownLook(Protocol):
    """A clip policy of whose noisy look the next bound shows something."""

    def look(self, bound: float, norms: list[Bounds]) -> float:
        """The look without its noise."""

    def shown_look(self, before: float, after: float) -> tuple[float, float]:
        """Between which values the noisy look lay, if the bound went from one to the other; twice the same
        where the bound shows it."""


@dataclass(frozen=True, kw_only=True)
class LookLaw:
    """A look at the norms of a round, in units of what the canary adds to it.

        y ~ N(k + b J, z²),    k = 1 if the canary was drawn, else 0,    J ~ Bin(n, q)

    Args:
      noise: z: the noise multiplier of the look.
      others: n: how many users there are beside the canary.
      rate: q: with which probability each is drawn.
      silent: b: what a user adds that sends zeros.

    >>> law = LookLaw(noise=2.0, others=0, rate=1.0, silent=0.0)
    >>> law.log_ratio(2.5, 2.5)  # (2 y - 1) / (2 z²)
    0.5
    """

    noise: float
    others: int
    rate: float
    silent: float

    def __post_init__(self) -> None:
        multiplier(self.noise)
        whole("other users", self.others, at_least=0)
        rate("sampling rate", self.rate)

    @classmethod
    def of(
        cls, policy: ShownLook, bound: float, noise: float, others: int, rate: float
    ) -> tuple[LookLaw, float]:
        """The law under a clip bound, and how much the canary adds to the look itself."""
        moved, silent = policy.look(bound, [(LOUD * bound,)]), policy.look(bound, [(0.0,)])
        return cls(noise=noise, others=others, rate=rate, silent=silent / moved), moved

    def log_ratio(self, low: float, high: float) -> float:
        """log of the likelihood with the canary drawn over that without it, of a look in an interval."""
        return self._log_likelihood(low, high, 1.0) - self._log_likelihood(low, high, 0.0)

    def _log_likelihood(self, low: float, high: float, canary: float) -> float:
        drawn = np.arange(self.others + 1)
        if self.silent == 0.0 or self.others == 0:
            drawn = drawn[:1]
        weights = binom.logpmf(drawn, self.others, self.rate) if len(drawn) > 1 else np.zeros(1)
        centres = canary + self.silent * drawn
        if low == high:
            masses = -(((low - centres) / self.noise) ** 2) / 2
        else:
            masses = _log_between((low - centres) / self.noise, (high - centres) / self.noise)
        return float(logsumexp(masses + weights))


def _log_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """log(Φ(high) - Φ(low)), from the side on which both are small."""
    mirrored = low > 0
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    most, least = log_ndtr(high), log_ndtr(low)
    return np.asarray(most + np.log1p(-np.exp(np.minimum(least - most, -1e-300))))


def shown_log_ratio(
    policy: object, noise: float, others: int, rate: float, before: float, after: float
) -> float:
    """What the bound of the next round says about the canary, as a logarithm of likelihoods.

    It is 0 where a policy does not say what its bounds show.
    """
    if not isinstance(policy, ShownLook):
        return 0.0
    law, moved = LookLaw.of(policy, before, noise, others, rate)
    ends = sorted(each / moved for each in policy.shown_look(before, after))
    return 0.0 if ends == [-math.inf, math.inf] else law.log_ratio(*ends)
