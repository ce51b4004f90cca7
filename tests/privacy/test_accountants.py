from __future__ import annotations

import logging
import math
from typing import Any

import pytest
from dp_accounting import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    NeighboringRelation,
    NonPrivateDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
)
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from scipy.optimize import brentq
from scipy.stats import norm

from fedward.base.validate import InvalidType, InvalidValue
from fedward.privacy import ACCOUNTANTS, epsilon_of, fold
from fedward.privacy.pld import NoiseTooSmall

POISSON = PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
FIXED = SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(1.5))
GAUSSIAN = GaussianDpEvent(3.0)
ALL = ["moments", "rdp", "pld"]


def test_fixed_size_sampling_costs_what_replace_one_proves() -> None:
    # Poisson's 0.24 would be the answer of those who forget that replacing a user moves the mean by 2S/m.
    assert epsilon_of([(FIXED, 3)], 0.0029, "rdp", "replace-one") == pytest.approx(0.7687, abs=5e-5)
    forgotten = SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(3.0))
    assert epsilon_of([(forgotten, 3)], 0.0029, "rdp", "replace-one") == pytest.approx(0.24, abs=5e-3)


def test_pld_refuses_fixed_size_sampling_with_the_reason() -> None:
    with pytest.raises(InvalidValue, match=r"must be accounted by rdp.*no tight privacy loss distribution"):
        epsilon_of([(FIXED, 3)], 0.0029, "pld", "replace-one")


@pytest.mark.parametrize("accountant", ALL)
@pytest.mark.parametrize(
    ("event", "adjacency"),
    [
        (POISSON, "replace-one"),
        (POISSON, "local"),
        (FIXED, "add/remove"),
        (FIXED, "local"),
        (ComposedDpEvent([GAUSSIAN, SelfComposedDpEvent(POISSON, 3)]), "replace-one"),
        (PoissonSampledDpEvent(0.5, POISSON), "add/remove"),
        (PoissonSampledDpEvent(0.5, FIXED), "add/remove"),
        (SampledWithoutReplacementDpEvent(9, 3, POISSON), "replace-one"),
    ],
)
def test_what_has_no_proof_is_refused(event: DpEvent, adjacency: Any, accountant: str) -> None:
    with pytest.raises(InvalidValue):
        epsilon_of([(event, 2)], 1e-5, accountant, adjacency)


@pytest.mark.parametrize("accountant", ALL)
def test_nothing_spent_costs_nothing(accountant: str) -> None:
    assert epsilon_of([], 1e-5, accountant, "add/remove") == 0.0
    assert epsilon_of([(NoOpDpEvent(), 5)], 1e-5, accountant, "local") == 0.0
    assert epsilon_of([(PoissonSampledDpEvent(0.5, NoOpDpEvent()), 5)], 1e-5, accountant, "add/remove") == 0.0


@pytest.mark.parametrize("accountant", ALL)
@pytest.mark.parametrize(
    "event",
    [
        NonPrivateDpEvent(),
        ComposedDpEvent([POISSON, NonPrivateDpEvent()]),
        PoissonSampledDpEvent(0.1, NonPrivateDpEvent()),
    ],
)
def test_one_release_that_is_not_private_leaves_nothing_private(event: DpEvent, accountant: str) -> None:
    assert epsilon_of([(POISSON, 3), (event, 1)], 1e-5, accountant, "add/remove") == math.inf


@pytest.mark.parametrize("accountant", ALL)
def test_a_composition_is_its_parts(accountant: str) -> None:
    other = PoissonSampledDpEvent(0.1, GaussianDpEvent(5.0))
    nested = SelfComposedDpEvent(ComposedDpEvent([POISSON, SelfComposedDpEvent(other, 2), NoOpDpEvent()]), 4)
    flat = epsilon_of([(POISSON, 4), (other, 8)], 1e-5, accountant, "add/remove")
    assert epsilon_of([(nested, 1)], 1e-5, accountant, "add/remove") == flat


@pytest.mark.parametrize("accountant", ALL)
def test_equal_events_are_counted_together_wherever_they_stand(accountant: str) -> None:
    together = epsilon_of([(POISSON, 7)], 1e-5, accountant, "add/remove")
    assert (
        epsilon_of([(POISSON, 2), (NoOpDpEvent(), 1), (POISSON, 5)], 1e-5, accountant, "add/remove")
        == together
    )


@pytest.mark.parametrize("accountant", ALL)
def test_gaussians_within_a_sample_are_folded(accountant: str) -> None:
    both = PoissonSampledDpEvent(
        0.1, ComposedDpEvent([GaussianDpEvent(3.0), SelfComposedDpEvent(GaussianDpEvent(8.0), 4)])
    )
    one = PoissonSampledDpEvent(0.1, GaussianDpEvent(fold(3.0, 4.0)))
    assert epsilon_of([(both, 3)], 1e-5, accountant, "add/remove") == epsilon_of(
        [(one, 3)], 1e-5, accountant, "add/remove"
    )


def analytic_gaussian_epsilon(z: float, delta: float) -> float:
    """ε of the Gaussian mechanism (Balle and Wang 2018)."""

    def gap(epsilon: float) -> float:
        above, below = norm.cdf(0.5 / z - epsilon * z), norm.cdf(-0.5 / z - epsilon * z)
        return float(above - math.exp(epsilon) * below - delta)

    return float(brentq(gap, 0.0, 100.0, xtol=1e-12))


@pytest.mark.parametrize("adjacency", ["add/remove", "replace-one", "local"])
def test_a_plain_gaussian_is_right_as_it_is_under_every_adjacency(adjacency: Any) -> None:
    exact = analytic_gaussian_epsilon(3.0 / math.sqrt(4), 1e-5)
    assert epsilon_of([(GAUSSIAN, 4)], 1e-5, "pld", adjacency) == pytest.approx(exact, abs=2e-3)
    for accountant in ALL:
        assert exact <= epsilon_of([(GAUSSIAN, 4)], 1e-5, accountant, adjacency) < 1.5 * exact


@pytest.mark.parametrize(
    ("event", "count"), [(POISSON, 3), (PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)), 1000)]
)
def test_rdp_is_dp_accounting_called_directly(event: DpEvent, count: int) -> None:
    direct = RdpAccountant().compose(event, count).get_epsilon(1e-5)
    assert epsilon_of([(event, count)], 1e-5, "rdp", "add/remove") == pytest.approx(direct, rel=1e-9)


def test_rdp_of_fixed_size_is_dp_accounting_called_directly() -> None:
    accountant = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
    direct = accountant.compose(FIXED, 3).compose(GAUSSIAN, 2).get_epsilon(1e-5)
    assert epsilon_of([(FIXED, 3), (GAUSSIAN, 2)], 1e-5, "rdp", "replace-one") == direct


def test_pld_of_different_events_is_that_of_dp_accounting() -> None:
    direct = PLDAccountant().compose(POISSON, 5).compose(GAUSSIAN).get_epsilon(1e-5)
    found = epsilon_of([(POISSON, 3), (GAUSSIAN, 1), (POISSON, 2)], 1e-5, "pld", "add/remove")
    assert found == pytest.approx(direct, abs=1e-8)


@pytest.mark.parametrize("event", [POISSON, PoissonSampledDpEvent(0.01, GaussianDpEvent(0.7))])
def test_pld_of_more_and_more_rounds_is_that_of_dp_accounting(event: DpEvent) -> None:
    # One round's losses are kept between calls, and must come out of each as they went in.
    for count in (300, 1, 7, 300):
        direct = PLDAccountant().compose(event, count).get_epsilon(1e-5)
        found = epsilon_of([(event, count)], 1e-5, "pld", "add/remove")
        assert found == pytest.approx(direct, abs=1e-8)


def test_pld_folds_plain_gaussians_into_one_exactly() -> None:
    spending = [(POISSON, 5), (GAUSSIAN, 2), (GaussianDpEvent(7.0), 3)]
    composed = PLDAccountant()
    for event, count in spending:
        composed.compose(event, count)
    folded = epsilon_of(spending, 1e-5, "pld", "add/remove")
    # Every convolution rounds losses up to the grid: the folded one has fewer, so it is a little smaller.
    assert folded == pytest.approx(composed.get_epsilon(1e-5), abs=1e-3)
    assert folded <= composed.get_epsilon(1e-5)


def test_rdp_never_rounds_a_cost_away() -> None:
    # dp_accounting's sums come out negative here at some orders, and it answers 0 for any number of rounds.
    event = PoissonSampledDpEvent(1e-8, GaussianDpEvent(1000.0))
    assert RdpAccountant().compose(event, 10**12).get_epsilon(1e-6) == 0.0
    assert epsilon_of([(event, 10**12)], 1e-6, "rdp", "add/remove") > 0.005


def test_orders_that_fail_are_left_out_in_silence_and_only_within_the_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fails = PoissonSampledDpEvent(0.1, GaussianDpEvent(0.487))
    with caplog.at_level(logging.WARNING, logger="absl"):
        assert 0 < epsilon_of([(fails, 1)], 1e-5, "rdp", "add/remove") < math.inf
        assert caplog.records == []
        RdpAccountant().compose(fails)
        assert caplog.records
    assert logging.getLogger("absl").filters == []


@pytest.mark.parametrize(
    ("event", "count"),
    [(PoissonSampledDpEvent(0.1, GaussianDpEvent(0.05)), 1), (GaussianDpEvent(1.0), 10**6)],
)
def test_pld_does_not_start_what_it_cannot_finish(event: DpEvent, count: int) -> None:
    with pytest.raises(NoiseTooSmall, match="use rdp"):
        epsilon_of([(event, count)], 1e-5, "pld", "add/remove")
    assert math.isfinite(epsilon_of([(event, count)], 1e-5, "rdp", "add/remove"))


@pytest.mark.parametrize("z", [1e-50, 1e-3, 1e50])
@pytest.mark.parametrize("kind", ["poisson", "fixed", "plain"])
def test_extreme_noise_gives_a_number_or_is_refused(z: float, kind: str) -> None:
    event, adjacency = {
        "poisson": (PoissonSampledDpEvent(0.1, GaussianDpEvent(z)), "add/remove"),
        "fixed": (SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(z)), "replace-one"),
        "plain": (GaussianDpEvent(z), "local"),
    }[kind]
    for accountant in ["moments", "rdp"]:
        found = epsilon_of([(event, 10)], 1e-5, accountant, adjacency)  # type: ignore[arg-type]
        assert (found > 1e4) if z < 1 else (0 <= found < 0.2)


@pytest.mark.parametrize("accountant", ALL)
@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, 2.0, math.nan, math.inf])
def test_a_delta_out_of_range_is_refused(delta: float, accountant: str) -> None:
    with pytest.raises(InvalidValue, match="delta must be above 0 and below 1"):
        epsilon_of([(POISSON, 1)], delta, accountant, "add/remove")


@pytest.mark.parametrize("accountant", ALL)
@pytest.mark.parametrize(
    "spending",
    [
        [(POISSON, 0)],
        [(POISSON, -1)],
        [(POISSON, 1.5)],
        [(POISSON, math.nan)],
        [(POISSON, True)],
        [(GaussianDpEvent(0.0), 1)],
        [(GaussianDpEvent(math.nan), 1)],
        [(PoissonSampledDpEvent(1.5, GAUSSIAN), 1)],
        [("Gaussian", 1)],
    ],
)
def test_bad_spending_is_refused(spending: Any, accountant: str) -> None:
    with pytest.raises((InvalidValue, InvalidType)):
        ACCOUNTANTS[accountant](spending, 1e-5, "add/remove")


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidValue, match="did you mean 'pld'"):
        epsilon_of([(POISSON, 1)], 1e-5, "pdl", "add/remove")
    with pytest.raises(InvalidValue, match="did you mean 'add/remove'"):
        epsilon_of([(POISSON, 1)], 1e-5, "pld", "add-remove")  # type: ignore[arg-type]
