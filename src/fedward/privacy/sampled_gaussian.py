"""The Rényi divergence of the Poisson-sampled Gaussian mechanism, to machine precision at every order."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

Array = np.ndarray[Any, np.dtype[np.float64]]

# In units of the noise's standard deviation. The trapezoidal rule on the whole line converges exponentially
# (Trefethen and Weideman 2014): this step and this reach leave less than 1e-12 of the divergence out.
_STEP = 0.1
_REACH = 12.0
# Below this noise all of the integral lies around one peak, and a grid over the whole line would be long.
_LITTLE_NOISE = 0.03


def sampled_gaussian_rdp(sampling_rate: float, noise_multiplier: float, orders: Array) -> Array:
    """Rényi divergence of one round, at each order.

        RDP(α) = log(A) / (α - 1),   A = E_{x ~ N(0, z²)} [(1 - q + q exp((2x - 1) / 2z²))^α]

    It bounds the divergence in both directions, for adding and for removing one record (add/remove).
    With u = q (exp(...) - 1) the mean of u is 0, so A - 1 is the mean of (1 + u)^α - 1 - αu, which is
    never negative: small sampling rates and much noise lose no digits to cancellation.

    Args:
      sampling_rate: q, in (0, 1].
      noise_multiplier: z, the noise's standard deviation divided by the sensitivity.
      orders: α, each above 1.

    >>> sampled_gaussian_rdp(1.0, 2.0, np.array([4.0])).tolist()
    [0.5]
    >>> sampled_gaussian_rdp(0.1, 2.0, np.array([4.0])).round(6).tolist()
    [0.006003]

    Mironov, Talwar and Zhang 2019, "Rényi differential privacy of the sampled Gaussian mechanism".
    """
    inverse_variance = noise_multiplier**-2
    if sampling_rate == 1.0:
        return orders * inverse_variance / 2.0
    whole = orders == np.round(orders)
    log_excess = np.empty_like(orders)
    log_excess[whole] = _log_excess_by_sum(sampling_rate, inverse_variance, orders[whole])
    log_excess[~whole] = _log_excess_by_quadrature(sampling_rate, noise_multiplier, orders[~whole])
    return np.logaddexp(0.0, log_excess) / (orders - 1.0)


def _log_excess_by_sum(q: float, inverse_variance: float, orders: Array) -> Array:
    """log(A - 1) at whole orders: the binomial theorem, whose terms 0 and 1 cancel against the 1."""
    if len(orders) == 0:
        return orders
    i = np.arange(2.0, orders.max() + 1.0)
    rest = orders[:, None] - i
    with np.errstate(invalid="ignore", divide="ignore"):
        log_binomial = gammaln(orders[:, None] + 1) - gammaln(i + 1) - gammaln(rest + 1)
        terms = (
            log_binomial
            + i * np.log(q)
            + rest * np.log1p(-q)
            + _log_expm1(i * (i - 1) / 2 * inverse_variance)
        )
    return _log_sum(np.where(rest >= 0, terms, -np.inf))


def _log_excess_by_quadrature(q: float, z: float, orders: Array) -> Array:
    """log(A - 1) at fractional orders."""
    if len(orders) == 0:
        return orders
    alpha = orders[:, None]
    if z < _LITTLE_NOISE:
        y = alpha / z + np.arange(-_REACH, _REACH + _STEP, _STEP)
    else:
        y = np.arange(-_REACH, max(2.0, orders.max()) / z + _REACH, _STEP)[None, :]
    log_ratio = log_mixture(q, y / z - 0.5 / z**2)
    log_density = -(y**2) / 2.0 - 0.5 * np.log(2.0 * np.pi)
    log_excess: Array = _log_sum(log_density + _log_bernoulli_gap(alpha, log_ratio)) + np.log(_STEP)
    return log_excess


def log_mixture(q: float, t: Array) -> Array:
    """log(1 - q + q exp(t)), to full relative precision near t = 0."""
    near = np.log1p(q * np.expm1(np.minimum(t, 1.0)))
    return np.where(t < 1.0, near, np.logaddexp(np.log1p(-q), np.log(q) + t))


def _log_bernoulli_gap(alpha: Array, log_ratio: Array) -> Array:
    """log((1 + u)^α - 1 - αu) where log_ratio = log(1 + u); Bernoulli's inequality says that it exists."""
    x = alpha * log_ratio
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # For a large ratio the power is taken out, so that it may overflow any float.
        far = x + np.log1p((alpha - 1) * np.exp(-x) - alpha * np.exp(log_ratio - x))
        near = np.log(
            _exp_beyond_linear(np.minimum(x, 1.0)) - alpha * _exp_beyond_linear(np.minimum(log_ratio, 1.0))
        )
    return np.where(x > 1.0, far, near)


def _exp_beyond_linear(x: Array) -> Array:
    """exp(x) - 1 - x, by its series where subtracting would lose digits."""
    series = np.ones_like(x)
    small = np.clip(x, -1.0, 1.0)
    for n in range(20, 2, -1):
        series = 1.0 + series * small / n
    return np.where(np.abs(x) <= 1.0, series * small**2 / 2.0, np.expm1(x) - x)


def _log_expm1(x: Array) -> Array:
    return np.where(x > 1.0, x + np.log1p(-np.exp(-x)), np.log(np.expm1(np.minimum(x, 1.0))))


def _log_sum(terms: Array) -> Array:
    top = np.maximum(terms.max(axis=1, keepdims=True), -1e300)  # a row of zeros must not become NaN
    with np.errstate(divide="ignore"):
        total: Array = top[:, 0] + np.log(np.exp(terms - top).sum(axis=1))
    return total
