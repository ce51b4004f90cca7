"""Random allocation: its curves against integrals, draws, Poisson samples and the plain Gaussian."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import DpEvent, GaussianDpEvent, PoissonSampledDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from fedward.base.validate import InvalidValue
from fedward.privacy import epsilon_of, noise_for
from fedward.privacy.accounting_events import ComposedDpEvent, RandomAllocationDpEvent
from fedward.privacy.allocated_release import discretise_allocation
from fedward.privacy.losses import Losses

GRID, TAIL = 1e-4, 1e-20


def pld(event: DpEvent, count: int = 1, delta: float = 1e-5) -> float:
    return epsilon_of([(event, count)], delta, "pld", "add/remove")


def allocated(epoch: int, z: float) -> RandomAllocationDpEvent:
    return RandomAllocationDpEvent(epoch, GaussianDpEvent(z))


def hockey_stick(law: Losses, epsilon: float) -> float:
    loss = GRID * (law.first + np.arange(len(law.mass)))
    return law.infinite + float(law.mass @ np.maximum(0.0, -np.expm1(epsilon - loss)))


def option(strike: float, z: float, *, call: bool) -> float:
    """E (W - strike)+ or E (strike - W)+ for W = exp(x/z - 1/2z²), x standard normal: Black and Scholes."""
    if strike <= 0:
        return 1.0 - strike if call else 0.0
    upper = 0.5 / z - z * math.log(strike)
    if call:
        return float(norm.cdf(upper) - strike * norm.cdf(upper - 1.0 / z))
    return float(strike * norm.cdf(1.0 / z - upper) - norm.cdf(-upper))


def delta_of_two(epsilon: float, z: float, *, removed: bool) -> float:
    """δ(ε) of an epoch of two rounds, by an integral over the first."""
    strike = 2 * math.exp(epsilon if removed else -epsilon)
    scale = 0.5 if removed else 0.5 * math.exp(epsilon)

    def inner(x: float) -> float:
        rest = strike - math.exp(x / z - 0.5 / z**2)
        return option(rest, z, call=removed) * float(norm.pdf(x))

    return scale * float(quad(inner, -12, 12, limit=400, epsabs=1e-14, epsrel=1e-10)[0])


@pytest.mark.parametrize("z", [0.5, 1.0, 4.0])
def test_an_epoch_of_two_rounds_is_that_of_the_integral(z: float) -> None:
    release = discretise_allocation(2, z, TAIL, GRID)
    for epsilon in (0.05, 0.3, 1.0, 2.0):
        for law, removed in ((release.removed, True), (release.added, False)):
            exact = delta_of_two(epsilon, z, removed=removed)
            found = hockey_stick(law, epsilon - release.blur)
            assert found >= exact - 1e-12
            assert found <= exact * 1.003 + 1e-9


@pytest.mark.parametrize("z", [0.5, 2.0, 30.0])
def test_an_epoch_of_one_round_is_the_plain_gaussian(z: float) -> None:
    release = discretise_allocation(1, z, TAIL, GRID)
    for epsilon in (0.0, 0.1, 1.0):
        exact = float(norm.cdf(0.5 / z - epsilon * z) - math.exp(epsilon) * norm.cdf(-0.5 / z - epsilon * z))
        for law in (release.removed, release.added):
            assert exact <= hockey_stick(law, epsilon - release.blur) <= exact * 1.005 + 1e-12
    assert pld(allocated(1, z), 3) == pld(GaussianDpEvent(z), 3)


@pytest.mark.parametrize(("epoch", "z", "epochs"), [(7, 1.0, 1), (30, 0.6, 1), (5, 2.0, 3)])
def test_draws_of_the_pair_find_the_same_curves(epoch: int, z: float, epochs: int) -> None:
    """Monte Carlo under the base: it can miss the curve to either side by its own error only."""
    rng, draws = np.random.default_rng(epoch), 400_000
    ratio = np.ones(draws)
    for _ in range(epochs):
        ratio *= np.exp(rng.standard_normal((draws, epoch)) / z - 0.5 / z**2).mean(axis=1)
    release = discretise_allocation(epoch, z, TAIL, GRID)
    for law, sign in ((release.removed, 1), (release.added, -1)):
        masses = law.mass
        for _ in range(epochs - 1):
            masses = np.convolve(masses[:: _stride(law)], law.mass[:: _stride(law)])
            masses = _spread(masses, _stride(law))
        whole = Losses(law.first * epochs, masses, epochs * law.infinite)
        for epsilon in (0.1, 0.5, 1.0):
            drawn = np.maximum(0.0, sign * (ratio - math.exp(sign * epsilon)))
            drawn *= 1.0 if sign > 0 else math.exp(epsilon)
            error = 5 * float(drawn.std()) / math.sqrt(draws) + 1e-7
            found = hockey_stick(whole, epsilon)
            assert float(drawn.mean()) - error <= found <= float(drawn.mean()) * 1.004 + error


def _stride(law: Losses) -> int:
    return int(np.gcd.reduce(np.flatnonzero(law.mass)))


def _spread(mass: np.ndarray, stride: int) -> np.ndarray:
    finer = np.zeros((len(mass) - 1) * stride + 1)
    finer[::stride] = mass
    return finer


@settings(max_examples=8)
@given(
    epoch=st.integers(2, 40),
    z=st.floats(0.6, 8.0),
    epochs=st.integers(1, 5),
    delta=st.sampled_from([1e-3, 1e-5, 1e-9]),
)
def test_it_costs_less_than_poisson_samples_and_than_the_plain_gaussian(
    epoch: int, z: float, epochs: int, delta: float
) -> None:
    found = pld(allocated(epoch, z), epochs, delta)
    sampled = pld(PoissonSampledDpEvent(1 / epoch, GaussianDpEvent(z)), epoch * epochs, delta)
    assert found <= sampled * 1.002 + 1e-4
    assert found <= pld(GaussianDpEvent(z), epochs, delta)
    # Whoever sees the first round of each epoch alone sees Poisson samples.
    assert found >= pld(PoissonSampledDpEvent(1 / epoch, GaussianDpEvent(z)), epochs, delta) * 0.999


@pytest.mark.parametrize(
    ("epoch", "z", "epochs", "low", "high"),
    # What PLD_accounting 2.0 (Feldman and Shenfeld 2026) finds: bounds from below and from above.
    [(2, 2.0, 1, 1.4166, 1.4910), (8, 1.0, 8, 6.0538, 6.1288), (64, 1.0, 10, 2.1630, 2.2320)],
)
def test_it_lies_between_the_bounds_that_others_find(
    epoch: int, z: float, epochs: int, low: float, high: float
) -> None:
    assert low <= pld(allocated(epoch, z), epochs) <= high


def test_a_coarser_grid_is_never_below_a_finer_one() -> None:
    fine, coarse = (discretise_allocation(6, 1.5, TAIL, step) for step in (1e-4, 2e-2))
    for epsilon in (0.1, 0.4, 0.9):
        for side in ("removed", "added"):
            law = getattr(coarse, side)
            loss = 2e-2 * (law.first + np.arange(len(law.mass)))
            found = law.infinite + float(law.mass @ np.maximum(0.0, -np.expm1(epsilon - loss)))
            assert found >= hockey_stick(getattr(fine, side), epsilon) - 1e-12


def test_other_accountants_and_other_neighbours_are_refused() -> None:
    for accountant in ("rdp", "moments"):
        with pytest.raises(InvalidValue, match="random allocation must be accounted by pld, got"):
            epsilon_of([(allocated(4, 2.0), 1)], 1e-5, accountant, "add/remove")
    with pytest.raises(InvalidValue, match="must be accounted for add/remove or zero-out"):
        epsilon_of([(allocated(4, 2.0), 1)], 1e-5, "pld", "replace-one")


def test_noise_is_found_for_it_and_looks_are_folded() -> None:
    z = noise_for(1.0, 1e-5, lambda z: allocated(8, z), 4, "pld", "add/remove")
    assert 0.99 < pld(allocated(8, z), 4) <= 1.0
    both = RandomAllocationDpEvent(8, ComposedDpEvent([GaussianDpEvent(3.0), GaussianDpEvent(4.0)]))
    assert pld(both) == pld(allocated(8, 2.4))


@pytest.mark.parametrize("delta", [1e-30, 1e-100])
def test_a_tiny_delta_has_an_epsilon_that_grows(delta: float) -> None:
    few, more = (pld(allocated(8, 2.0), 2, each) for each in (1e-10, delta))
    assert few < more < pld(GaussianDpEvent(2.0), 2, delta)
