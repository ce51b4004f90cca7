from __future__ import annotations

import json
import math

import pytest
from dp_accounting import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)
from scipy.stats import norm

from fedward.base.validate import InvalidType, InvalidValue
from fedward.privacy import Guarantee, Ledger
from fedward.privacy.accounting_events import SampledWithoutReplacementDpEvent
from fedward.privacy.participation import Participation
from fedward.privacy.person import person_epsilon
from fedward.privacy.terms import Terms


def ledger(event: DpEvent, rounds: int = 1, **changes: object) -> Ledger:
    about = {"unit": "user", "adjacency": "add/remove", "noise_source": "seeded"} | changes
    return Ledger(**about).charged(event, rounds)  # type: ignore[arg-type]


def gaussian_delta(epsilon: float, mu: float) -> float:
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize("devices", [1, 2, 5, 9])
@pytest.mark.parametrize("rounds", [1, 30])
def test_of_a_plain_gaussian_it_is_the_closed_form_of_that_many_times_the_sensitivity(
    devices: int, rounds: int
) -> None:
    z, delta = 12.0, 1e-5
    found = person_epsilon(ledger(GaussianDpEvent(z), rounds), delta, devices)
    assert gaussian_delta(found, devices * math.sqrt(rounds) / z) <= delta
    assert gaussian_delta(found - 0.01, devices * math.sqrt(rounds) / z) > delta * 0.99


def test_of_one_device_it_is_hardly_more_than_the_accountant_says_and_never_less() -> None:
    for event in (GaussianDpEvent(3.0), PoissonSampledDpEvent(0.1, GaussianDpEvent(2.0))):
        spent = ledger(event, 20)
        exact = spent.guarantee(1e-5, "pld").epsilon
        assert exact - 1e-6 <= person_epsilon(spent, 1e-5, 1) <= exact + 0.005


def test_more_devices_cost_more_and_less_than_one_after_the_other() -> None:
    """Group privacy by (ε, δ) alone gives kε at δ (e^(kε) - 1) / (e^ε - 1)."""
    spent = ledger(PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)), 30)
    delta, found = 1e-5, [person_epsilon(spent, 1e-5, k) for k in (1, 2, 3, 4)]
    assert found == sorted(found)
    for k, epsilon in zip((2, 3, 4), found[1:], strict=True):
        share = min(
            (one for one in (0.2 + 0.01 * i for i in range(400)) if _by_chain(spent, one, k, delta)),
            default=99.0,
        )
        assert epsilon < k * share


def _by_chain(spent: Ledger, one: float, k: int, delta: float) -> bool:
    """Whether kε at δ follows from ε at the δ that this leaves to each step of a chain."""
    small = delta * math.expm1(one) / math.expm1(k * one)
    return spent.guarantee(small, "pld").epsilon <= one


def test_looks_move_with_every_device_too() -> None:
    looking = ComposedDpEvent([GaussianDpEvent(3.0), GaussianDpEvent(4.0)])
    assert person_epsilon(ledger(looking), 1e-5, 3) == pytest.approx(
        person_epsilon(ledger(GaussianDpEvent(2.4)), 1e-5, 3)
    )


def test_coins_of_a_schema_gain_nothing_for_a_person() -> None:
    drawn = SelfComposedDpEvent(PoissonSampledDpEvent(0.2, GaussianDpEvent(6.0)), 4)
    always = SelfComposedDpEvent(GaussianDpEvent(6.0), 4)
    terms = Terms(participation=Participation(most=4, separation=5))
    assert person_epsilon(ledger(drawn, terms=terms), 1e-5, 2) == person_epsilon(ledger(always), 1e-5, 2)


def test_what_has_no_curve_is_refused() -> None:
    fixed = SampledWithoutReplacementDpEvent(20, 4, GaussianDpEvent(3.0))
    with pytest.raises(InvalidValue, match="users added or removed, got replace-one"):
        person_epsilon(ledger(fixed, adjacency="replace-one"), 1e-5, 2)
    with pytest.raises(InvalidValue, match="users that the server's noise hides, got example level"):
        person_epsilon(ledger(GaussianDpEvent(3.0), unit="example", terms=Terms(noise_of="user")), 1e-5, 2)
    with pytest.raises(InvalidValue, match="delta must be above"):
        person_epsilon(ledger(GaussianDpEvent(3.0)), 1e-12, 2)
    with pytest.raises(InvalidValue, match="must be accounted by pld, got 'rdp'"):
        ledger(GaussianDpEvent(3.0)).guarantee(1e-5, "rdp", 2)
    with pytest.raises(InvalidType, match="devices per person must be a whole number"):
        ledger(GaussianDpEvent(3.0)).guarantee(1e-5, "pld", 1.5)  # type: ignore[arg-type]


def test_a_guarantee_says_person_level_and_comes_back_from_its_file() -> None:
    found = ledger(GaussianDpEvent(3.0)).guarantee(1e-5, "pld", 3)
    assert "person level, up to 3 devices each, add/remove" in str(found)
    assert Guarantee.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert "devices" not in ledger(GaussianDpEvent(3.0)).guarantee(1e-5, "pld").to_json()
    none = ledger(GaussianDpEvent(3.0), reason="nothing is proven").guarantee(1e-5, "pld", 3)
    assert str(none) == "no guarantee: nothing is proven"
