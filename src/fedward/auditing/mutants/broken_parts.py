"""Norms, aggregators, clip policies and samplers that do something else than they declare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from fedward.aggregation import Mean
from fedward.clipping import FlatNorm, Quantile
from fedward.core.types import Bounds, PolicyState, Sampler
from fedward.privacy.accounting_events import DpEvent, PoissonSampledDpEvent
from fedward.privacy.events import Adjacency
from fedward.privacy.terms import ExactAttackers


@dataclass(frozen=True)
class NoClip(FlatNorm):
    """A norm that clips nothing."""

    def clip(self, update: Tensor, norms: Bounds, bounds: Bounds) -> Tensor:
        return update


@dataclass(frozen=True, kw_only=True)
class RealisedMean(Mean):
    """A mean over the users that came, whose noise is that of a mean over those that were expected."""

    def init(self, parameters: Tensor) -> Any:
        return super().init(parameters), 0

    def add(self, total: Any, row: Tensor, num_examples: int) -> Any:
        sum_so_far, rows = total
        return super().add(sum_so_far, row, num_examples), rows + 1

    def finish(self, total: Any) -> Tensor:
        sum_of_all, rows = total
        found: Tensor = sum_of_all / max(1, rows)
        return found


@dataclass(frozen=True, kw_only=True)
class FreeLook(Quantile):
    """A clip policy that looks at the norms with next to no noise, and declares a look with a lot of it."""

    def looks(self, round: int) -> tuple[float, ...]:
        return (1e6,)

    def move(
        self, policy: PolicyState, round: int, bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> PolicyState:
        return Quantile(
            initial=self.initial,
            quantile=self.quantile,
            bit_noise=1e-3,
            expected_cohort=self.expected_cohort,
            learning_rate=self.learning_rate,
        ).move(policy, round, bounds, norms, rng)


@dataclass(frozen=True, kw_only=True)
class CalledPoisson:
    """A sampler of fixed-size cohorts that is accounted for as if every user had a coin of its own.

    Args:
      sampler: that draws.
    """

    sampler: Sampler

    adjacency: Adjacency = "add/remove"
    exact = False
    declares_size = False
    staged: ExactAttackers | None = None

    def __str__(self) -> str:
        return str(self.sampler)

    def check(self, num_users: int) -> None:
        """Any number of users will do: the others make up the cohort."""

    def expected_size(self, num_users: int) -> float:
        return self.sampler.expected_size(num_users)

    def draw(self, num_users: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return self.sampler.draw(num_users, rng)

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        rate = min(1.0, self.sampler.expected_size(num_users) / num_users)
        return event if rate == 1 else PoissonSampledDpEvent(rate, event)
