from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from fedward.base.validate import InvalidType, InvalidValue
from fedward.mechanisms import GaussianNoise, NoNoise


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_noise_is_gaussian_with_the_asked_deviation(source: str) -> None:
    noise = GaussianNoise(multiplier=1.0, source=source)  # type: ignore[arg-type]
    drawn = noise.draw(torch.zeros(50_000, dtype=torch.float64), 0.25, np.random.default_rng(0))
    assert drawn.dtype == torch.float64
    # The system source has no seed: chance fails this once in a billion runs.
    assert stats.kstest(drawn.numpy() / 0.25, "norm").pvalue > 1e-9


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_a_million_draws_have_the_asked_deviation_to_half_a_percent(source: str) -> None:
    noise = GaussianNoise(multiplier=1.0, source=source)  # type: ignore[arg-type]
    drawn = noise.draw(torch.zeros(1_000_000, dtype=torch.float64), 0.25, np.random.default_rng(0))
    # Seven standard errors of a sample deviation: the system source must not fail by chance.
    assert float(drawn.std()) == pytest.approx(0.25, rel=7 / np.sqrt(2e6))
    assert abs(float(drawn.mean())) < 7 * 0.25 / 1000


def test_seeded_noise_follows_its_stream_and_system_noise_does_not() -> None:
    mean = torch.zeros(10, dtype=torch.float64)
    seeded = [GaussianNoise(multiplier=1.0).draw(mean, 1.0, np.random.default_rng(3)) for _ in range(2)]
    system = [
        GaussianNoise(multiplier=1.0, source="system").draw(mean, 1.0, np.random.default_rng(3))
        for _ in range(2)
    ]
    assert torch.equal(seeded[0], seeded[1])
    assert not torch.equal(system[0], system[1])


def test_no_noise_is_zero() -> None:
    assert torch.equal(NoNoise().draw(torch.ones(3), 0.0, np.random.default_rng(0)), torch.zeros(3))


@pytest.mark.parametrize("multiplier", [0.0, -1.0, float("nan"), float("inf")])
def test_a_multiplier_must_be_positive_and_finite(multiplier: float) -> None:
    with pytest.raises(InvalidValue, match="noise multiplier must be positive and finite"):
        GaussianNoise(multiplier=multiplier)


def test_settings_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(InvalidType):
        GaussianNoise(multiplier=True)
    with pytest.raises(InvalidValue, match="did you mean 'seeded'"):
        GaussianNoise(multiplier=1.0, source="seed")  # type: ignore[arg-type]
