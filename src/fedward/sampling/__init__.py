"""Samplers: who takes part in a round, and how that draw amplifies privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedward.sampling.cohort import Cohort
from fedward.sampling.everyone import EveryoneSampler
from fedward.sampling.fixed_size import FixedSizeSampler
from fedward.sampling.poisson import PoissonSampler
from fedward.sampling.random_allocation import RandomAllocation

if TYPE_CHECKING:
    from fedward.core.types import Sampler

SAMPLERS: dict[str, type[Sampler]] = {
    "poisson": PoissonSampler,
    "fixed_size": FixedSizeSampler,
    "everyone": EveryoneSampler,
    "random_allocation": RandomAllocation,
}
"""The samplers, by the names that experiment files use."""

__all__ = ["SAMPLERS", "Cohort", "EveryoneSampler", "FixedSizeSampler", "PoissonSampler", "RandomAllocation"]
