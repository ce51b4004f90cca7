from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SampledWithoutReplacementDpEvent
from scipy import stats

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.types import Sampler
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler

SAMPLERS: list[Sampler] = [PoissonSampler(rate=0.3), FixedSizeSampler(size=6), EveryoneSampler()]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_a_cohort_is_ascending_without_repeats_and_within_the_users(sampler: Sampler) -> None:
    for seed in range(50):
        cohort = sampler.draw(20, np.random.default_rng(seed))
        assert cohort.dtype == np.int64
        assert (np.diff(cohort) > 0).all()
        assert ((cohort >= 0) & (cohort < 20)).all()


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_every_user_is_drawn_as_often_as_expected(sampler: Sampler) -> None:
    draws = 4000
    rng = np.random.default_rng(0)
    counts = np.zeros(20)
    sizes = []
    for _ in range(draws):
        cohort = sampler.draw(20, rng)
        counts[cohort] += 1
        sizes.append(len(cohort))
    q = sampler.expected_size(20) / 20
    assert np.abs(counts / draws - q).max() <= 6 * math.sqrt(q * (1 - q) / draws)
    assert np.mean(sizes) == pytest.approx(20 * q, rel=0.05)


def test_poisson_draws_users_independently() -> None:
    """The cohort's size is binomial: drawing a fixed number, or all users by one coin, would show."""
    rng = np.random.default_rng(1)
    sizes = np.array([len(PoissonSampler(rate=0.3).draw(20, rng)) for _ in range(5000)])
    observed = np.bincount(sizes, minlength=21)
    expected = stats.binom.pmf(np.arange(21), 20, 0.3) * 5000
    common = expected > 5
    statistic = float(((observed - expected)[common] ** 2 / expected[common]).sum())
    assert stats.chi2.sf(statistic, common.sum() - 1) > 1e-6


def test_fixed_size_draws_exactly_that_many() -> None:
    rng = np.random.default_rng(0)
    assert {len(FixedSizeSampler(size=6).draw(20, rng)) for _ in range(100)} == {6}


def test_each_sampler_amplifies_as_it_draws() -> None:
    event = GaussianDpEvent(2.0)
    assert PoissonSampler(rate=0.3).amplify(event, 20) == PoissonSampledDpEvent(0.3, event)
    assert FixedSizeSampler(size=6).amplify(event, 20) == SampledWithoutReplacementDpEvent(20, 6, event)
    for everyone in (EveryoneSampler(), PoissonSampler(rate=1.0), FixedSizeSampler(size=20)):
        assert everyone.amplify(event, 20) == event


def test_each_sampler_knows_its_adjacency() -> None:
    assert PoissonSampler(rate=0.3).adjacency == "add/remove"
    assert FixedSizeSampler(size=6).adjacency == "replace-one"
    assert EveryoneSampler().adjacency == "add/remove"
    assert EveryoneSampler(adjacency="replace-one").adjacency == "replace-one"


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1, float("nan"), float("inf")])
def test_a_rate_must_be_a_probability(rate: float) -> None:
    with pytest.raises(InvalidValue, match="sampling rate must be above 0 and at most 1"):
        PoissonSampler(rate=rate)


def test_more_users_than_there_are_cannot_be_drawn() -> None:
    for use in (
        FixedSizeSampler(size=21).check,
        lambda n: FixedSizeSampler(size=21).amplify(GaussianDpEvent(1.0), n),
    ):
        with pytest.raises(InvalidValue, match="cohort size must be at most the number of users, 20, got 21"):
            use(20)


def test_sizes_and_adjacencies_are_checked() -> None:
    with pytest.raises(InvalidValue, match="cohort size must be at least 1"):
        FixedSizeSampler(size=0)
    with pytest.raises(InvalidType):
        FixedSizeSampler(size=2.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="did you mean 'replace-one'"):
        EveryoneSampler(adjacency="replace")  # type: ignore[arg-type]
