"""Noise on a grid: as much as is declared, no less, and nothing in its bits that a floating sum betrays."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedward.base.randomness import system_normal
from fedward.base.validate import InvalidValue
from fedward.core.types import Sensitivity
from fedward.mechanisms import GaussianNoise
from fedward.mechanisms.exact_gaussian import SMOOTHING, ExactGaussian

RELEASES = 100_000


@given(multiplier=st.floats(1e-6, 1e12), bound=st.floats(1e-9, 1e9))
def test_the_variance_on_the_grid_pays_for_the_grid_and_is_hardly_more(
    multiplier: float, bound: float
) -> None:
    noise = ExactGaussian.of(multiplier, bound)
    wanted = (Fraction(multiplier) * Fraction(bound) / Fraction(noise.grid.spacing)) ** 2
    variance = Fraction(noise.law.twice_variance, 2)
    assert variance - SMOOTHING >= wanted
    assert variance <= (wanted + SMOOTHING + 1) * (1 + Fraction(1, 2**29))
    assert noise.grid.spacing <= max(bound, multiplier * bound / 2**4) / 2**25


@pytest.mark.parametrize("smoothing", [0.2, 0.6, 1.0])
def test_discrete_noise_is_that_of_a_smoothed_gaussian_up_to_the_stated_factor(smoothing: float) -> None:
    """The theorem of docs/exact-noise.md, by quadrature, with so little smoothing that the factor is seen."""
    variance, reach, fine = 9.0, 40, 400
    x = np.arange(-reach * fine, reach * fine + 1) / fine
    gaussian = np.exp(-(x**2) / (2 * (variance - smoothing)))
    gaussian /= gaussian.sum()
    y = np.arange(-reach - 20, reach + 21)
    kernel = np.exp(-((y[:, None] - x) ** 2) / (2 * smoothing))
    kernel /= kernel.sum(axis=0)
    smoothed = kernel @ gaussian
    discrete = np.exp(-(y.astype(np.float64) ** 2) / (2 * variance))
    discrete /= discrete.sum()
    inside = np.abs(y) <= 20
    tau = 2 * sum(math.exp(-2 * math.pi**2 * smoothing * k * k) for k in range(1, 9))
    off = float(np.abs(np.log(discrete[inside] / smoothed[inside])).max())
    assert 0 < off <= math.log((1 + tau) / (1 - tau)) + 1e-12
    # The test sees what it is about: without the factor this would fail.
    assert off > 1e-4 or smoothing > 0.2


def test_the_stated_factor_of_today_is_beyond_all_digits() -> None:
    tau_in_digits = math.log10(2) - 2 * math.pi**2 * SMOOTHING / math.log(10)
    assert 10**0.3 * 10 ** (tau_in_digits + 137) < 5  # 2 τ is below 5e-137


def released(value: float, noise: str) -> NDArray[np.float64]:
    """One coordinate of bound 1 released many times with noise multiplier 10: ε = 1.9 each at δ = 1e-80."""
    if noise == "box-muller":
        return value + 10.0 * system_normal(RELEASES)
    mechanism = GaussianNoise(multiplier=10.0, source="seeded" if noise == "seeded" else "system")
    aggregate = torch.full((RELEASES,), value, dtype=torch.float64)
    rng = np.random.default_rng(0)
    return mechanism.privatise(aggregate, Sensitivity(row=1.0, share=1.0), (), rng)[0].numpy()


def finer_than_a_sum_with_one(releases: NDArray[np.float64]) -> int:
    """How many releases near 0 have bits that 1 plus a floating number cannot have.

    Near -1 floats are multiples of 2^-53, and so is their sum with 1. Near 0 they are finer.
    """
    near = releases[np.abs(releases) < 0.125] * 2.0**53
    return int((near != np.round(near)).sum())


@pytest.mark.parametrize("noise", ["seeded", "box-muller"])
def test_floating_noise_is_told_apart_by_its_last_bits(noise: str) -> None:
    """The attack of Mironov 2012: an event of probability 0 with the user, and of 1 % without."""
    assert finer_than_a_sum_with_one(released(1.0, noise)) == 0
    assert finer_than_a_sum_with_one(released(0.0, noise)) > 0.005 * RELEASES


def test_exact_noise_is_not_told_apart_by_its_last_bits() -> None:
    with_user, without = released(1.0, "exact"), released(0.0, "exact")
    assert finer_than_a_sum_with_one(with_user) == finer_than_a_sum_with_one(without) == 0
    spacing = ExactGaussian.of(10.0, 1.0).grid.spacing
    for some in (with_user, without):
        units = some / spacing
        assert np.array_equal(units, np.round(units))
        # No remainder of the grid's numbers is preferred either.
        counts = np.bincount(units.astype(np.int64) & 7, minlength=8)
        assert float(((counts - RELEASES / 8) ** 2).sum() / (RELEASES / 8)) < 60


def test_released_numbers_follow_from_whole_numbers_alone() -> None:
    """Whatever the sum was rounded from does not show: the grid has the same numbers for all sums."""
    noise = ExactGaussian.of(1.0, 0.7)
    share = 1 / 77.3
    like = torch.zeros(3, dtype=torch.float64)
    units = [5, -9, 2**40]
    floats = noise.grid.floats(torch.tensor(units), share, like)
    assert floats.tolist() == [number * noise.grid.spacing * share for number in units]


def test_an_aggregate_that_is_no_sum_on_the_grid_is_refused() -> None:
    mechanism = GaussianNoise(multiplier=1.0, source="system")
    aggregate = torch.full((4,), 1 / 3, dtype=torch.float64)
    with pytest.raises(InvalidValue, match="beside its grid"):
        mechanism.privatise(aggregate, Sensitivity(row=1.0, share=1.0), (), np.random.default_rng(0))
