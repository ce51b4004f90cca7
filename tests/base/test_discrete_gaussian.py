"""The exact sampler: its law by chi-square and in the tails, from a source of bits that repeats itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from fedward.base import discrete_gaussian
from fedward.base.discrete_gaussian import LARGEST, DiscreteGaussian, round_up
from fedward.base.exact_exponential import exponential_bounds
from fedward.base.validate import InvalidValue

COUNT = 400_000


def bytes_of(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


def probabilities(twice_variance: int, edges: list[int]) -> list[float]:
    """P(y < edges[0]), P(edges[0] <= y < edges[1]), ..., P(y >= edges[-1]), right to 1e-12."""
    reach = 16 * (math.isqrt(twice_variance // 2) + 1)
    weight = np.exp(-(np.arange(-reach, reach + 1, dtype=np.float64) ** 2) / twice_variance)
    below = np.concatenate([[0.0], np.cumsum(weight)]) / weight.sum()
    cuts = [0.0, *(below[edge + reach] for edge in edges), 1.0]
    return [b - a for a, b in itertools.pairwise(cuts)]


def pvalue(twice_variance: int, sample: NDArray[np.int64], edges: list[int]) -> float:
    expected = len(sample) * np.array(probabilities(twice_variance, edges))
    assert expected.min() > 5
    found = np.bincount(np.searchsorted(edges, sample, side="right"), minlength=len(edges) + 1)
    return float(stats.chisquare(found, expected).pvalue)


def edges_of(twice_variance: int, cells: int = 60) -> list[int]:
    """Up to 3.5 standard deviations on either side, each integer by itself where there are few."""
    reach = round(3.5 * math.sqrt(twice_variance / 2))
    return sorted({round(edge) for edge in np.linspace(-reach, reach, min(cells, 2 * reach + 1))})


@pytest.mark.parametrize("twice_variance", [8, 9, 50, 2 * 100**2, 2 * 300**2 + 7, 2 * 5000**2])
def test_every_value_comes_as_often_as_the_law_says(twice_variance: int) -> None:
    sample = DiscreteGaussian(twice_variance=twice_variance).sample(COUNT, bytes_of(twice_variance))
    assert pvalue(twice_variance, sample, edges_of(twice_variance)) > 1e-3
    # A law whose variance is 3 % off is told apart: the test can fail.
    assert pvalue(max(10, twice_variance * 103 // 100), sample, edges_of(twice_variance)) < 1e-6


@pytest.mark.parametrize("twice_variance", [2 * 300**2, 2 * 5000**2])
def test_the_tails_are_those_of_the_law(twice_variance: int) -> None:
    sample = DiscreteGaussian(twice_variance=twice_variance).sample(4_000_000, bytes_of(5))
    sigma = math.isqrt(twice_variance // 2)
    for reach in (3.5, 4.0, 4.5):
        cut = round(reach * sigma)
        beyond = 1 - probabilities(twice_variance, [-cut + 1, cut])[1]
        found = int((np.abs(sample) >= cut).sum())
        assert stats.binomtest(found, len(sample), beyond).pvalue > 1e-3


@pytest.mark.parametrize("bits", [0, 1, 2, 3, 6])
def test_low_bits_and_signs_are_uniform_in_a_wide_law(bits: int) -> None:
    """A wide law has no preferred remainder: its mass is alike to 10^-1000 on all of them."""
    sample = DiscreteGaussian(twice_variance=2**61).sample(COUNT, bytes_of(11))
    found = np.bincount((sample >> 5) & ((1 << bits) - 1), minlength=1 << bits)
    assert bits == 0 or stats.chisquare(found).pvalue > 1e-3
    assert stats.binomtest(int((sample < 0).sum()), COUNT).pvalue > 1e-3
    scaled = sample / math.sqrt(2**60)
    assert stats.kstest(scaled, "norm").pvalue > 1e-3


@pytest.fixture
def rare_paths(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few, wide blocks and a tail that begins early: what is rare is decided all the time."""
    monkeypatch.setattr(discrete_gaussian, "_REACH", 2)
    monkeypatch.setattr(discrete_gaussian, "_BLOCKS", 8)
    discrete_gaussian._table.cache_clear()
    yield
    discrete_gaussian._table.cache_clear()


@pytest.mark.usefixtures("rare_paths")
@pytest.mark.parametrize("twice_variance", [8, 2 * 100**2])
def test_the_tail_that_is_drawn_by_its_own_rule_has_the_same_law(twice_variance: int) -> None:
    sample = DiscreteGaussian(twice_variance=twice_variance).sample(20_000, bytes_of(3))
    assert pvalue(twice_variance, sample, edges_of(twice_variance, 24)[1:-1]) > 1e-3


def test_what_is_decided_at_once_is_decided_as_the_exact_numbers_do() -> None:
    """The two inequalities in 32 bits, against e^-x between integers of 64."""
    rng = np.random.default_rng(0)
    most = 1 << 32
    for x in [0, 1, 2, *rng.integers(0, most // 6, 300).tolist()]:
        lower = exponential_bounds(Fraction(x + 1, most), 64)[0]
        upper = exponential_bounds(Fraction(x, most), 64)[1]
        kept = most - x - 2  # the largest v that is kept at once: up to v + 1 must be below 2^32 e^-(x + 1)
        lost = most - x + (x * x >> 33) + 1  # the least v that is thrown away: it must be above 2^32 e^-x
        assert (kept + 1) << 32 <= lower
        assert lost << 32 >= upper


def test_the_same_bits_give_the_same_numbers_and_the_system_does_not() -> None:
    law = DiscreteGaussian(twice_variance=2**50)
    assert np.array_equal(law.sample(100, bytes_of(1)), law.sample(100, bytes_of(1)))
    assert not np.array_equal(law.sample(100), law.sample(100))
    assert law.sample(0).tolist() == []
    assert law.sample(7).dtype == np.int64


@pytest.mark.parametrize("value", [8, 100, 2**31 - 1, 2**31 + 1, 2**40 + 12345, 2**61 + 1, LARGEST])
def test_a_rounded_variance_is_never_less_and_little_more(value: int) -> None:
    rounded = round_up(value)
    assert value <= rounded <= value * (1 + 2**-29)
    assert DiscreteGaussian(twice_variance=rounded).sample(3, bytes_of(0)).shape == (3,)


@pytest.mark.parametrize("value", [7, 0, -8, LARGEST + 2**40, 2**40 + 1])
def test_a_variance_that_does_not_fit_is_refused(value: int) -> None:
    with pytest.raises(InvalidValue, match="twice the variance must"):
        DiscreteGaussian(twice_variance=value)
