from __future__ import annotations

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, NonPrivateDpEvent, PoissonSampledDpEvent
from dp_accounting import SampledWithoutReplacementDpEvent as FixedSize
from scipy.stats import norm

from fedward.auditing.error_rates import ErrorRates
from fedward.auditing.noise_family import NoiseFamily
from fedward.auditing.weighed_errors import WeighedErrors
from fedward.base.validate import InvalidValue
from fedward.privacy.accountants import epsilon_of


@pytest.mark.parametrize("z", [0.5, 1.0, 3.0])
def test_the_rates_of_the_best_test_give_the_epsilon_of_a_gaussian_and_never_more(z: float) -> None:
    family = NoiseFamily.of([(GaussianDpEvent(1.0), 1)], "add/remove", 1e-5)
    wrong = float(norm.cdf(-0.5 / z))
    true = epsilon_of([(GaussianDpEvent(z), 1)], 1e-5, "pld", "add/remove")
    found = family.least_epsilon(wrong, wrong)
    assert found <= true + 1e-6
    assert found == pytest.approx(true, rel=0.03)


def test_a_sampled_claim_is_refuted_by_rates_below_its_curve_only() -> None:
    family = NoiseFamily.of([(PoissonSampledDpEvent(0.5, GaussianDpEvent(1.0)), 3)], "add/remove", 1e-5)
    most = family.most(1.0, 0.1)
    assert not family.refutes(1.0, 0.1, 1 - most + 1e-9)
    assert family.refutes(1.0, 0.1, 1 - most - 1e-3)
    assert family.least_epsilon(0.1, 1 - most - 1e-2) > family.epsilon(1.0) * 0.99


def test_counted_errors_bound_the_epsilon_that_they_came_from() -> None:
    family = NoiseFamily.of([(GaussianDpEvent(1.0), 1)], "add/remove", 1e-5)
    wrong = round(float(norm.cdf(-0.5)) * 4000)
    rates = ErrorRates(false_positives=wrong, without=4000, false_negatives=wrong, having=4000)
    found = family.bound(WeighedErrors(rates=rates, weight=family.weight(1.0, 0.3085)), 0.025)
    assert family.least_epsilon(*rates.upper(0.025)) < found < family.epsilon(1.0)


def test_rates_of_guessing_prove_nothing() -> None:
    family = NoiseFamily.of([(GaussianDpEvent(1.0), 2)], "add/remove", 1e-5)
    assert family.least_epsilon(0.5, 0.5) == 0.0
    assert family.leaks(np.array([0.5, 0.05]), np.array([0.5, 0.05])).tolist()[0] == -np.inf


def test_fixed_size_cohorts_have_a_family_by_their_accountant() -> None:
    family = NoiseFamily.of([(FixedSize(8, 4, GaussianDpEvent(2.0)), 2)], "replace-one", 1e-5)
    assert family.epsilon(0.5) > family.epsilon(1.0) > 0
    assert not family.refutes(1.0, 0.4, 0.4)


def test_a_claim_about_nothing_private_is_refused() -> None:
    with pytest.raises(InvalidValue, match="private releases"):
        NoiseFamily.of([(NonPrivateDpEvent(), 1)], "add/remove", 1e-5)
