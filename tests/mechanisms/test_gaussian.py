from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from dp_accounting import ComposedDpEvent, GaussianDpEvent, NonPrivateDpEvent, PoissonSampledDpEvent
from scipy import stats
from torch import Tensor

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.types import Cohorts, Mechanism, Sensitivity
from fedward.mechanisms import GaussianNoise, NoNoise
from fedward.sampling import PoissonSampler


def privatised(noise: Mechanism, mean: Tensor, *, row: float = 1.0, share: float = 1.0) -> Tensor:
    sensitivity, rng = Sensitivity(row=row, share=share), np.random.default_rng(3)
    private, state = noise.privatise(mean, sensitivity, noise.init(mean), rng)
    assert state == ()
    return private


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_noise_is_gaussian_with_the_asked_deviation(source: str) -> None:
    noise = GaussianNoise(multiplier=2.5, source=source)  # type: ignore[arg-type]
    drawn = privatised(noise, torch.zeros(50_000, dtype=torch.float64), row=0.5, share=0.2)
    assert drawn.dtype == torch.float64
    # The system source has no seed: chance fails this once in a billion runs.
    assert stats.kstest(drawn.numpy() / 0.25, "norm").pvalue > 1e-9


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_a_million_draws_have_the_asked_deviation_to_half_a_percent(source: str) -> None:
    noise = GaussianNoise(multiplier=2.5, source=source)  # type: ignore[arg-type]
    drawn = privatised(noise, torch.zeros(1_000_000, dtype=torch.float64), row=0.5, share=0.2)
    # Seven standard errors of a sample deviation: the system source must not fail by chance.
    assert float(drawn.std()) == pytest.approx(0.25, rel=7 / np.sqrt(2e6))
    assert abs(float(drawn.mean())) < 7 * 0.25 / 1000


def test_seeded_noise_follows_its_stream_and_system_noise_does_not() -> None:
    mean = torch.zeros(10, dtype=torch.float64)
    seeded = [privatised(GaussianNoise(multiplier=1.0), mean) for _ in range(2)]
    system = [privatised(GaussianNoise(multiplier=1.0, source="system"), mean) for _ in range(2)]
    assert torch.equal(seeded[0], seeded[1])
    assert not torch.equal(system[0], system[1])


def test_noise_is_added_to_the_aggregate_with_the_bits_of_all_stored_runs() -> None:
    """The standard deviation is (z S) / m̄ in this order: another order may differ in the last bit."""
    mean = torch.linspace(-1, 1, 7)
    found = privatised(GaussianNoise(multiplier=1.1), mean, row=0.7, share=1 / 3)
    normal = torch.from_numpy(np.random.default_rng(3).standard_normal(7))
    assert torch.equal(found, mean + normal * (1.1 * 0.7 * (1 / 3)))


def test_the_event_is_that_of_the_gaussian_on_a_drawn_cohort_with_its_looks() -> None:
    noise, sampler = GaussianNoise(multiplier=3.0), PoissonSampler(rate=0.1)
    alone = noise.event(1.0, Cohorts(sampler=sampler, num_users=20))
    assert alone == PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
    looked = noise.event(0.5, Cohorts(sampler=sampler, num_users=20, looks=(4.0,)))
    both = ComposedDpEvent([GaussianDpEvent(1.5), GaussianDpEvent(4.0)])
    assert looked == PoissonSampledDpEvent(0.1, both)


def test_no_noise_leaves_the_aggregate_and_is_not_private() -> None:
    found = privatised(NoNoise(), torch.tensor([1.0, -2.0, -0.0]), row=math.inf, share=math.inf)
    assert torch.equal(found, torch.tensor([1.0, -2.0, 0.0]))
    assert not bool(torch.signbit(found[2]))
    event = NoNoise().event(1.0, Cohorts(sampler=PoissonSampler(rate=0.1), num_users=20))
    assert event == NonPrivateDpEvent()


@pytest.mark.parametrize("multiplier", [0.0, -1.0, float("nan"), float("inf")])
def test_a_multiplier_must_be_positive_and_finite(multiplier: float) -> None:
    with pytest.raises(InvalidValue, match="noise multiplier must be positive and finite"):
        GaussianNoise(multiplier=multiplier)


def test_settings_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(InvalidType):
        GaussianNoise(multiplier=True)
    with pytest.raises(InvalidValue, match="did you mean 'seeded'"):
        GaussianNoise(multiplier=1.0, source="seed")  # type: ignore[arg-type]
