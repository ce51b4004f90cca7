from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from dp_accounting import DpEvent, GaussianDpEvent, PoissonSampledDpEvent
from torch import Tensor

from core.correlated import Correlated
from fedward.core.types import Cohorts, MechanismState, Sensitivity
from fedward.mechanisms import GaussianNoise
from fedward.testing import check_mechanism
from testing.caught import caught


@dataclass(frozen=True, kw_only=True)
class ForgetsTheShare(GaussianNoise):
    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        return super().privatise(aggregate, Sensitivity(row=sensitivity.row, share=0.5), state, rng)


@dataclass(frozen=True, kw_only=True)
class OneNumberForAll(GaussianNoise):
    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        half = torch.from_numpy(rng.standard_normal(-(-aggregate.numel() // 2))).repeat_interleave(2)
        return aggregate + half[: aggregate.numel()] * sensitivity.times(self.multiplier), state


@dataclass(frozen=True, kw_only=True)
class AlwaysTheSame(GaussianNoise):
    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        return super().privatise(aggregate, sensitivity, state, np.random.default_rng(0))


@dataclass(frozen=True, kw_only=True)
class NoisesInPlace(GaussianNoise):
    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        return aggregate.add_(super().privatise(0 * aggregate, sensitivity, state, rng)[0]), state


@dataclass(frozen=True, kw_only=True)
class ClaimsTwiceItsNoise(GaussianNoise):
    def event(self, ratio: float, cohorts: Cohorts) -> DpEvent:
        return cohorts.amplify(GaussianDpEvent(2 * self.multiplier * ratio))


@dataclass(frozen=True, kw_only=True)
class AmplifiesTwice(GaussianNoise):
    def event(self, ratio: float, cohorts: Cohorts) -> DpEvent:
        event: DpEvent = GaussianDpEvent(self.multiplier * ratio)
        rate = cohorts.sampler.expected_size(cohorts.num_users) / cohorts.num_users
        return PoissonSampledDpEvent(rate**2, event) if rate < 1 else cohorts.amplify(event)


@dataclass(frozen=True, kw_only=True)
class ForgetsLooks(GaussianNoise):
    def event(self, ratio: float, cohorts: Cohorts) -> DpEvent:
        return cohorts.sampler.amplify(GaussianDpEvent(self.multiplier * ratio), cohorts.num_users)


@dataclass(frozen=True, kw_only=True)
class ForgetsTheRatio(GaussianNoise):
    def event(self, ratio: float, cohorts: Cohorts) -> DpEvent:
        return cohorts.amplify(GaussianDpEvent(self.multiplier))


@dataclass(frozen=True, kw_only=True)
class GrowingState(GaussianNoise):
    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        return super().privatise(aggregate, sensitivity, state, rng)[0], (*state, aggregate)


@dataclass(frozen=True, kw_only=True)
class SeededInDisguise(GaussianNoise):
    def privatise(
        self, aggregate: Tensor, sensitivity: Sensitivity, state: MechanismState, rng: np.random.Generator
    ) -> tuple[Tensor, MechanismState]:
        noise = torch.from_numpy(rng.standard_normal(aggregate.numel()))
        return aggregate + noise * sensitivity.times(self.multiplier), state


@pytest.mark.parametrize(
    ("mechanism", "fault"),
    [
        (ForgetsTheShare(multiplier=1.0), "and multiplier 1 says 0.1"),
        (OneNumberForAll(multiplier=1.0), "the noise of neighbouring coordinates has correlation 0.5"),
        (AlwaysTheSame(multiplier=1.0), "it drew the same noise from two streams"),
        (NoisesInPlace(multiplier=1.0), "privatise changed its input in place"),
        (ClaimsTwiceItsNoise(multiplier=1.0), "and one round of its noise costs"),
        (AmplifiesTwice(multiplier=1.0), "with sampling rate 0.1 and looks () claims"),
        (ForgetsLooks(multiplier=1.0), "and looks (2.0,) claims"),
        (ForgetsTheRatio(multiplier=1.0), "event(0.5, ...) with sampling rate 1.0"),
        (GrowingState(multiplier=1.0), "its state has tensors of shapes [(7,)] after round 0"),
        (
            SeededInDisguise(multiplier=1.0, source="system"),
            "its source is 'system', but its noise comes from",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_mechanism_is_caught(mechanism: Any, fault: str) -> None:
    assert fault in caught(check_mechanism, mechanism)


def test_noise_of_the_system_and_noise_with_state_pass() -> None:
    check_mechanism(GaussianNoise(multiplier=0.7, source="system"))
    check_mechanism(Correlated(multiplier=1.0, rounds=3))
