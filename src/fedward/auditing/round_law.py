"""The law of what one round shows along the canary's direction, as the ledger's events have it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from fedward.attacks.inference.auc import Floats
from fedward.base.validate import InvalidValue, rate, whole
from fedward.privacy import accounting_events as dp
from fedward.privacy.events import multiplier


@dataclass(frozen=True, kw_only=True)
class RoundLaw:
    """Noise, and on it the canary's contribution as often as it was drawn.

        x ~ N(k s, σ²),    k ~ Bin(n, q);    s = ``inside`` with the canary, ``outside`` without it

    Args:
      rate: q: the probability with which the canary is drawn.
      times: n: of how many draws x is the sum.
      std: σ, in units of one contribution.
      inside: what a draw adds where the canary is in.
      outside: what it adds where it is not: 0, or -1 where its data are exchanged for the opposite.
      look: the noise multiplier of what the clip bound shows beside x; None where it shows nothing.

    >>> law = RoundLaw(rate=1.0, times=1, std=2.0, inside=1.0, outside=0.0)
    >>> law.log_ratio(np.array([0.5, 2.5])).tolist()  # (2 x - 1) / (2 σ²)
    [0.0, 0.5]
    """

    rate: float
    times: int
    std: float
    inside: float = 1.0
    outside: float = 0.0
    look: float | None = None

    def __post_init__(self) -> None:
        rate("sampling rate", self.rate)
        whole("times", self.times)
        multiplier(self.std)
        if self.look is not None and (self.times > 1 or self.outside != 0.0):
            raise InvalidValue("a look has a law beside one draw that is there or not")

    @classmethod
    def of(cls, event: dp.DpEvent, *, apart: float = 1.0) -> RoundLaw | None:
        """The law that an event claims; None for an event of another kind, such as one of a whole training.

        Args:
          event: of one round. Of a composition the first release is the model's.
          apart: how far the two worlds are apart, in contributions: 2 where data are exchanged for the
          opposite.
        """
        times, rate = 1, 1.0
        if isinstance(event, dp.SelfComposedDpEvent):
            event, times = event.event, event.count
        if isinstance(event, dp.PoissonSampledDpEvent):
            event, rate = event.event, event.sampling_probability
        elif isinstance(event, dp.SampledWithoutReplacementDpEvent):
            event, rate = event.event, event.sample_size / event.source_dataset_size
        if isinstance(event, dp.ComposedDpEvent) and event.events:
            event = event.events[0]
        if not isinstance(event, dp.GaussianDpEvent) or rate == 0:
            return None
        std = event.noise_multiplier * apart * math.sqrt(times)
        return cls(rate=rate, times=times, std=std, outside=1.0 - apart)

    def repeated(self, rounds: int) -> RoundLaw:
        """The law of the sum of so many rounds."""
        return RoundLaw(
            rate=self.rate,
            times=self.times * rounds,
            std=self.std * math.sqrt(rounds),
            inside=self.inside,
            outside=self.outside,
        )

    def log_ratio(self, x: Floats, shown: Floats | float = 0.0) -> Floats:
        """log of the likelihood with the canary over that without it: the best score there is for x.

        Args:
          shown: log of the likelihood of what a look shows if the canary was drawn, over that if it was not.
        """
        return self._log_likelihood(x, self.inside, shown) - self._log_likelihood(x, self.outside, 0.0)

    def draw(self, inside: bool, size: int, rng: np.random.Generator) -> Floats:
        """What the claim says that x is, so many times."""
        return self._draw(inside, size, rng)[0]

    def draw_log_ratio(self, inside: bool, size: int, rng: np.random.Generator) -> Floats:
        """What the claim says that the score is, so many times, looks included."""
        x, drawn = self._draw(inside, size, rng)
        if self.look is None:
            return self.log_ratio(x)
        seen = drawn * float(inside) + self.look * rng.standard_normal(size)
        return self.log_ratio(x, (2 * seen - 1) / (2 * self.look**2))

    def _draw(self, inside: bool, size: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        drawn = rng.binomial(self.times, self.rate, size).astype(np.float64)
        x = drawn * (self.inside if inside else self.outside) + self.std * rng.standard_normal(size)
        return x, drawn

    def _log_likelihood(self, x: Floats, contribution: float, shown: Floats | float) -> Floats:
        """But for what does not depend on the contribution."""
        if contribution == 0.0:
            return np.zeros_like(x)
        drawn = np.arange(self.times + 1)
        weights = binom.logpmf(drawn, self.times, self.rate)
        drawn, weights = drawn[weights > -100.0], weights[weights > -100.0]
        shift = drawn * contribution
        terms = (2 * np.multiply.outer(x, shift) - shift**2) / (2 * self.std**2)
        terms = terms + np.multiply.outer(np.asarray(shown) + np.zeros_like(x), drawn)
        found: Floats = logsumexp(terms + weights, axis=-1)
        return found
