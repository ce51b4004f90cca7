from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedward.privacy.moments import ORDERS
from fedward.privacy.sampled_gaussian import sampled_gaussian_rdp


def by_definition(q: float, z: float, order: float) -> float:
    """RDP from the defining integral alone, with so many digits that nothing can cancel."""
    with mpmath.workdps(40):
        rate, noise, alpha = mpmath.mpf(q), mpmath.mpf(z), mpmath.mpf(order)

        def integrand(y: mpmath.mpf) -> mpmath.mpf:
            ratio = 1 - rate + rate * mpmath.exp(y / noise - 1 / (2 * noise**2))
            return mpmath.npdf(y) * ratio**alpha

        ends = [-14 + mpmath.mpf(k) for k in range(int(28 + alpha / noise) + 1)]
        return float(mpmath.log(mpmath.quad(integrand, ends, maxdegree=5)) / (alpha - 1))


@pytest.mark.parametrize(
    ("q", "z", "order"),
    [
        (0.1, 3.0, 1.1),
        (0.1, 3.0, 10.9),
        (0.1, 0.5, 1.3),
        (0.5, 0.3, 1.9),
        (0.9, 0.7, 2.7),
        (1e-6, 1.0, 1.5),
        (1e-3, 20.0, 7.7),
        (0.2, 1e4, 3.3),
        (0.1, 2.0, 5.0),
        (1e-4, 50.0, 12.0),
    ],
)
def test_it_is_the_defining_integral_to_twelve_digits(q: float, z: float, order: float) -> None:
    found = float(sampled_gaussian_rdp(q, z, np.array([order]))[0])
    assert found == pytest.approx(by_definition(q, z, order), rel=1e-12)


def test_without_sampling_it_is_the_plain_gaussian() -> None:
    np.testing.assert_allclose(sampled_gaussian_rdp(1.0, 0.8, ORDERS), ORDERS / (2 * 0.8**2), rtol=1e-15)


def test_it_approaches_the_plain_gaussian_as_everyone_is_sampled() -> None:
    nearly = sampled_gaussian_rdp(1.0 - 1e-12, 0.8, ORDERS)
    np.testing.assert_allclose(nearly, ORDERS / (2 * 0.8**2), rtol=1e-9)


@pytest.mark.parametrize("z", [0.1, 1.0, 30.0])
def test_sum_and_quadrature_agree_next_to_whole_orders(z: float) -> None:
    whole = np.array([2.0, 3.0, 7.0, 10.0])
    np.testing.assert_allclose(
        sampled_gaussian_rdp(0.07, z, whole + 1e-9), sampled_gaussian_rdp(0.07, z, whole), rtol=1e-6
    )


def test_the_narrow_grid_for_little_noise_goes_on_where_the_wide_one_ends() -> None:
    orders = np.array([1.1, 1.5, 4.4, 10.9])
    below, above = (sampled_gaussian_rdp(1e-5, z, orders) * z**2 for z in (0.03 - 1e-12, 0.03))
    np.testing.assert_allclose(below, above, rtol=1e-9)


@pytest.mark.parametrize("z", [1e-50, 1e-6, 1e-3, 0.1, 1e4, 1e50])
@pytest.mark.parametrize("q", [1e-300, 1e-9, 0.3, 1.0 - 1e-16])
def test_extreme_settings_give_numbers_between_zero_and_the_unsampled_divergence(q: float, z: float) -> None:
    curve = sampled_gaussian_rdp(q, z, ORDERS)
    assert np.isfinite(curve).all()
    assert (curve >= 0).all()
    assert (curve <= ORDERS / (2 * z**2) * (1 + 1e-12)).all()


@settings(max_examples=60, deadline=None)
@given(
    q=st.floats(1e-7, 0.99),
    z=st.floats(math.log(0.1), math.log(1e4)).map(math.exp),
    more=st.floats(1.0001, 3.0),
)
def test_it_grows_with_the_order_and_the_rate_and_falls_with_the_noise(
    q: float, z: float, more: float
) -> None:
    curve = sampled_gaussian_rdp(q, z, ORDERS)
    assert (np.diff(curve) > 0).all()
    assert (sampled_gaussian_rdp(q, z * more, ORDERS) < curve).all()
    assert (sampled_gaussian_rdp(min(1.0, q * more), z, ORDERS) > curve).all()
