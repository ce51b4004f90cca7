"""Adaptive clipping to the median of a noisy histogram of update norms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedward.base.validate import InvalidValue, positive, whole
from fedward.clipping.policy_methods import carry_bound, start_at_initial
from fedward.core.types import Bounds, PolicyState


@dataclass(frozen=True, kw_only=True)
class HistogramMedian:
    """Every so many rounds the bound becomes the median of a noisy histogram of the norms.

        h_j = #{i : ‖Δ_i‖ in bin j} + N(0, z_h²),
        C = the middle of the bin in which half of Σ_j max(h_j, 0) is reached

    The bins are public: equally wide on a logarithmic scale from ``least`` to ``most``; smaller and larger
    norms count in the first and last. The middle of a bin is its geometric mean.

    Guarantee: a user is in one bin, so one user added or removed changes one count by 1: a look has the noise
    multiplier z_h, and is charged. One replaced takes 1 from one bin and gives 1 to another (or leaves all as
    they are): it moves the counts by ‖e_i - e_j‖ = √2 times as far, at most. After ``most_looks`` looks the
    bound stays where it is, so the cost of a training has a limit that is known beforehand.

    Args:
      initial: the clip bound before the first look.
      least: where the bins begin.
      most: where the bins end.
      bins: how many bins there are, equally wide in logarithms.
      look_noise: z_h: noise on every count.
      every: looks happen in rounds 0, every, 2 every, ...
      most_looks: how many looks there are; after them the bound stays.

    >>> policy = HistogramMedian(
    ...     initial=1.0, least=0.01, most=100.0, bins=4, look_noise=1.0, every=5, most_looks=3
    ... )
    >>> [t for t in range(100) if policy.looks(t)]
    [0, 5, 10]
    >>> policy.median(np.array([0.0, 1.0, 5.0, 0.0]))
    3.1622776601683795

    The study of clip sizes under LDP (docs/references.md).
    """

    initial: float
    least: float
    most: float
    bins: int
    look_noise: float
    every: int
    most_looks: int

    reads_norms = False
    per_group = False
    unproven = ""
    # The next float above √2, so that no rounding makes a look look cheaper than it is.
    replaced_moves = math.nextafter(math.sqrt(2.0), 2.0)

    def __post_init__(self) -> None:
        positive("initial clip bound", self.initial)
        if positive("most", self.most) <= positive("least", self.least):
            raise InvalidValue(f"most must be above least, {self.least}, got {self.most}")
        whole("number of bins", self.bins, at_least=2)
        positive("noise multiplier of a look", self.look_noise)
        whole("every", self.every)
        whole("most looks", self.most_looks)

    def looks(self, round: int) -> tuple[float, ...]:
        due = round % self.every == 0 and round // self.every < self.most_looks
        return (self.look_noise,) if due else ()

    init = start_at_initial
    bound = carry_bound

    def move(
        self, policy: PolicyState, round: int, bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> PolicyState:
        if not self.looks(round):
            return policy
        noisy = self.look(norms) + self.look_noise * rng.standard_normal(self.bins)
        median = self.median(noisy)
        return policy if median is None else (median,)

    def look(self, norms: list[Bounds]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """How many norms lie in each bin; its sensitivity is 1."""
        values = np.array([norm for (norm,) in norms], dtype=np.float64)
        bins = np.searchsorted(self.edges[1:-1], values, side="right")
        return np.bincount(bins, minlength=self.bins).astype(np.float64)

    def median(self, counts: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
        """The middle of the median's bin; None if noise left nothing to count."""
        reached = np.maximum(counts, 0.0).cumsum()
        if reached[-1] <= 0:
            return None
        place = int(np.searchsorted(reached, reached[-1] / 2))
        return float(np.sqrt(self.edges[place] * self.edges[place + 1]))

    @property
    def edges(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The public bins: one more edge than there are bins."""
        return np.geomspace(self.least, self.most, self.bins + 1)
