"""Epochs: rounds whose cohorts are drawn together, and the secret that they are drawn with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedward.base.randomness import system_coins
from fedward.core.parts import EpochSampler, Sampler

if TYPE_CHECKING:
    from fedward.core.algorithm import Algorithm


def epoch_of(sampler: Sampler) -> int | None:
    """How many rounds an epoch has whose cohorts are drawn together; None where each is drawn by itself."""
    return sampler.epoch if isinstance(sampler, EpochSampler) and sampler.epoch > 1 else None


def first_of_epoch(sampler: Sampler, round: int) -> int:
    """The round whose stream the cohort of a round is drawn from: its own, or the first of its epoch."""
    return round - round % sampler.epoch if isinstance(sampler, EpochSampler) else round


def new_coins(algorithm: Algorithm) -> str:
    """A secret for a new epoch, where system entropy draws the cohorts of one together; otherwise nothing."""
    together = isinstance(algorithm.sampler, EpochSampler) and algorithm.noise_source == "system"
    return system_coins() if together else ""
