"""A pilot: how firmly trainings with known noise get each test example right, and how firmly others would."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fedward.base.validate import InvalidValue, positive, rate, whole
from fedward.certificates.confidence.clopper_pearson import clopper_pearson_of
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.tally import Scores, Tally, votes_of

Floats = NDArray[np.float64]
Origin = Literal["run", "file"]

# A confidence of 0 in half precision may be anything below.
_LEAST = 1e-8
_MOST_FIRM = 30.0
# One standard error: a fifth to a sixth of what is estimated like this is overestimated.
_CAUTION = 1.0
_ONE_SIDE = 0.1587
_LEAST_REPLICAS = 4


@dataclass(frozen=True, kw_only=True)
class Noise:
    """How far the noise and the drawing of cohorts move a model.

    Args:
      noise_multiplier, sampling_rate, rounds, users: z, q, T and N.
    """

    noise_multiplier: float
    sampling_rate: float
    rounds: int
    users: int

    def __post_init__(self) -> None:
        positive("noise multiplier", self.noise_multiplier)
        rate("sampling rate", self.sampling_rate)
        whole("rounds", self.rounds)
        whole("number of users", self.users)

    @property
    def cohort(self) -> float:
        """q N."""
        return self.sampling_rate * self.users

    @property
    def on_mean(self) -> float:
        """z / (q N): the noise on each coordinate of a round's mean, in units of the clip bound."""
        return self.noise_multiplier / self.cohort

    @property
    def of_drawing(self) -> float:
        """sqrt((1 - q) / (q N)): how far a round's mean moves with who is drawn, in units of an update."""
        return math.sqrt((1.0 - self.sampling_rate) / self.cohort)

    def over(self, other: Noise) -> float | None:
        """How many times as far this moves a model as another does, at most; None if that is not known."""
        if self.rounds != other.rounds:
            return None
        if self.of_drawing == 0:
            return self.on_mean / other.on_mean
        if other.of_drawing == 0:
            return None
        return max(self.on_mean / other.on_mean, self.of_drawing / other.of_drawing)


@dataclass(frozen=True, kw_only=True, eq=False)
class Pilot:
    """What some trainings say about each test example.

        firmness = mean / standard deviation of the margin by which it is right;    P[right] = Φ(firmness)

    The margin is log(confidence of the right class) - log(the largest other). It is Gaussian for a linear
    model under Gaussian noise, and only nearly so for others: this is an estimate, and no bound.

    Args:
      noise: that of the trainings.
      expected: the firmness of each test example.
      cautious: the same less one standard error.
      replicas: how many trainings it is taken from.
      classes: how many classes there are.
      origin: ``run``: trainings that were there; ``file``: they were made for the plan.
    """

    noise: Noise
    expected: Floats
    cautious: Floats
    replicas: int
    classes: int
    origin: Origin = "run"

    @classmethod
    def of(cls, scores: Scores, noise: Noise, origin: Origin = "run") -> Pilot:
        """The pilot that stored confidences or votes amount to.

        >>> rng = np.random.default_rng(0)
        >>> right = 1 / (1 + np.exp(-rng.normal(2.0, 1.0, (400, 1))))
        >>> both = np.stack([right, 1 - right], axis=2)
        >>> replicas = Replicas(scores=both, numbers=np.arange(400), seed=1, labels=[0])
        >>> noise = Noise(noise_multiplier=1.0, sampling_rate=1.0, rounds=1, users=100)
        >>> bool(abs(Pilot.of(replicas, noise).expected[0] - 2.0) < 0.2)
        True
        """
        if scores.labels is None:
            raise InvalidValue("a pilot needs the true classes of its test examples, got none")
        if len(scores) < _LEAST_REPLICAS:
            raise InvalidValue(f"a pilot needs at least {_LEAST_REPLICAS} replicas, got {len(scores)}")
        if isinstance(scores, Replicas) and scores.score == "confidence":
            expected, error = _from_margins(scores, scores.labels)
            cautious = expected - _CAUTION * error
        else:
            expected, cautious = _from_votes(scores, scores.labels)
        return cls(
            noise=noise,
            expected=expected,
            cautious=cautious,
            replicas=len(scores),
            classes=scores.classes,
            origin=origin,
        )

    def under(self, noise: Noise) -> Pilot | None:
        """The same under other noise, as far as margins only spread; None where that is not known.

        The whole spread is scaled by the larger of the two ratios (noise, drawing), which is cautious: less
        noise never makes it firmer than the one that fell least.
        """
        times = noise.over(self.noise)
        if times is None:
            return None
        return replace(self, noise=noise, expected=self.expected / times, cautious=self.cautious / times)

    @property
    def accuracy(self) -> float:
        """The share of examples that are right more often than not."""
        return float((self.expected > 0).mean())


def _from_margins(replicas: Replicas, labels: NDArray[np.int64]) -> tuple[Floats, Floats]:
    count = len(replicas)
    logs = np.log(np.maximum(replicas.scores.astype(np.float64), _LEAST))
    every = np.arange(replicas.examples)
    right = logs[:, every, labels]
    logs[:, every, labels] = -np.inf
    margins = right - logs.max(axis=2)
    spread = np.maximum(margins.std(axis=0, ddof=1), 1e-9)
    firm = np.clip(margins.mean(axis=0) / spread, -_MOST_FIRM, _MOST_FIRM)
    return firm, np.sqrt(1.0 / count + firm**2 / (2.0 * count))


def _from_votes(scores: Scores, labels: NDArray[np.int64]) -> tuple[Floats, Floats]:
    counts = scores.counts if isinstance(scores, Tally) else votes_of(scores.scores)
    right = counts[np.arange(len(counts)), labels]
    share = (right + 0.5) / (len(scores) + 1.0)
    low = clopper_pearson_of(right, len(scores), _ONE_SIDE, "lower")
    return (
        np.clip(ndtri(share), -_MOST_FIRM, _MOST_FIRM),
        np.clip(ndtri(low), -_MOST_FIRM, _MOST_FIRM),
    )
