"""The family of mechanisms with the claimed events and another amount of noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from fedward.attacks.inference.auc import Floats
from fedward.attacks.inference.limit import Limit
from fedward.auditing.weighed_errors import WeighedErrors, best_weight
from fedward.base.validate import InvalidValue, open_unit, positive
from fedward.privacy import accounting_events as dp
from fedward.privacy.accountants import epsilon_of
from fedward.privacy.events import Adjacency
from fedward.privacy.pld import NoiseTooSmall
from fedward.privacy.spending import Mechanisms, is_fixed_size, mechanisms, non_private

# Logarithms: noise beyond these is as good as all or none, and in between is found to a share of it.
_LEAST, _MOST, _STEP, _PRECISION = math.log(1 / 24), math.log(24), 0.25, 4e-3
_COARSE = np.exp(np.arange(2.0, -2.01, -0.1))


@dataclass(frozen=True, kw_only=True)
class NoiseFamily:
    """What was claimed, and the same with all noise multiplied by a constant: one trade-off curve for each.

        f_c = the curve of the events with noise multipliers c z;    f_1 is the claim

    Guarantee of ``least_epsilon``: where the true error rates lie below the curve of the claim itself, the
    claim is
    wrong, whatever the mechanism is. The *number* that is found is a bound if the mechanism is one of the
    family: it has the structure that its events describe (Gaussian noise, drawn cohorts), and only the amount
    of noise is open.

    Args:
      parts: the claimed events, and how often each happened.
      adjacency: that they are about.
      delta: δ of the claim.

    >>> family = NoiseFamily.of([(dp.GaussianDpEvent(1.0), 1)], "add/remove", 1e-5)
    >>> round(family.epsilon(1.0), 2)  # the ε of the Gaussian mechanism with z = 1
    4.38
    >>> round(family.least_epsilon(0.3085, 0.3085), 1)  # the error rates of the best test against it
    4.4

    Dong, Roth and Su 2022; Nasr et al. 2023.
    """

    parts: Mechanisms
    adjacency: Adjacency
    delta: float

    def __post_init__(self) -> None:
        open_unit("delta", self.delta)
        if not self.parts or non_private(self.parts):
            raise InvalidValue("an audit needs a claim about private releases, got one about none")

    @classmethod
    def of(cls, spending: object, adjacency: Adjacency, delta: float) -> NoiseFamily:
        """The family of what was spent."""
        return cls(parts=mechanisms(spending), adjacency=adjacency, delta=delta)  # type: ignore[arg-type]

    @property
    def gaussian(self) -> bool:
        """Whether nothing is drawn, so that all releases together are one Gaussian."""
        return all(isinstance(event, dp.GaussianDpEvent) for event, _ in self.parts)

    @cached_property
    def assumption(self) -> str:
        """What its bound assumes, for a reader."""
        what = "Gaussian" if self.gaussian else "sampled Gaussian"
        return f"the mechanism is the claimed {what} one but for the amount of its noise"

    def epsilon(self, noise: float) -> float:
        """The tightest known ε at δ with so many times the claimed noise."""
        return _epsilon(self, positive("noise", noise))

    def most(self, noise: float, fpr: float) -> float:
        """The largest true positive rate at a false positive rate with so much times the claimed noise."""
        return float(_limit(self, noise).most(fpr))

    def curve(self, noise: float, fpr: Floats) -> Floats:
        """The same at many false positive rates."""
        return _limit(self, noise).most(fpr)

    def refutes(self, noise: float, fpr: float, fnr: float) -> bool:
        """Whether such error rates are impossible with so much times the claimed noise."""
        return 1 - fnr > self.most(noise, fpr)

    def leaks(self, fpr: Floats, fnr: Floats) -> Floats:
        """How leaky the mechanism must be for each pair of error rates, roughly: to compare tests, no bound.

        It is -log of the least noise that is refuted, on a coarse grid; infinitely little if none is.
        """
        found = np.full(len(fpr), -math.inf)
        for noise in _COARSE:
            found[1 - fnr > self.curve(float(noise), fpr)] = -math.log(noise)
        return found

    def least_epsilon(self, fpr: float, fnr: float) -> float:
        """ε at δ of the family's most private member that allows such error rates."""
        return self.least_epsilon_where(lambda noise: self.refutes(noise, fpr, fnr))

    def bound(self, errors: WeighedErrors, error: float) -> float:
        """ε at δ of the most private member that counted errors do not refute, but for ``error``."""
        return self.least_epsilon_where(
            lambda noise: errors.refutes(lambda fpr: 1 - self.most(noise, fpr), error)
        )

    def weight(self, noise: float, fpr: float) -> float:
        """What a false positive should weigh where so much times the claimed noise is to be refuted."""
        return best_weight(lambda rate: self.most(noise, rate), fpr)

    def least_epsilon_where(self, refuted: Callable[[float], bool]) -> float:
        """ε at δ of the most private member that is not refuted: more noise is refuted if less is."""
        low = high = 0.0
        while low > _LEAST and refuted(math.exp(low)):
            low, high = low - _STEP, low
        while high < _MOST and not refuted(math.exp(high)):
            low, high = high, high + _STEP
        if high >= _MOST:
            return 0.0
        while high - low > _PRECISION:
            middle = (low + high) / 2
            low, high = (low, middle) if refuted(math.exp(middle)) else (middle, high)
        # Of the two ends the one with more noise: a bound is not rounded up.
        return self.epsilon(math.exp(high))


def _scaled(family: NoiseFamily, noise: float) -> list[tuple[dp.DpEvent, int]]:
    return [(_with_noise(event, noise), count) for event, count in family.parts]


def _with_noise(event: dp.DpEvent, noise: float) -> dp.DpEvent:
    if isinstance(event, dp.GaussianDpEvent):
        return dp.GaussianDpEvent(noise * event.noise_multiplier)
    inner = _with_noise(event.event, noise)
    if isinstance(event, dp.PoissonSampledDpEvent):
        return dp.PoissonSampledDpEvent(event.sampling_probability, inner)
    if isinstance(event, dp.RandomAllocationDpEvent):
        return dp.RandomAllocationDpEvent(event.epoch, inner)
    return dp.SampledWithoutReplacementDpEvent(event.source_dataset_size, event.sample_size, inner)


@lru_cache(maxsize=512)
def _limit(family: NoiseFamily, noise: float) -> Limit:
    spending = _scaled(family, noise)
    if is_fixed_size(family.parts):
        return Limit.of_accountant(spending, family.adjacency, "")
    return Limit.of_curve(spending, "")


@lru_cache(maxsize=512)
def _epsilon(family: NoiseFamily, noise: float) -> float:
    spending, fixed = _scaled(family, noise), is_fixed_size(family.parts)
    try:
        return epsilon_of(spending, family.delta, "rdp" if fixed else "pld", family.adjacency)
    except NoiseTooSmall:
        return epsilon_of(spending, family.delta, "rdp", family.adjacency)
