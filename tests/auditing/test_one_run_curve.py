from __future__ import annotations

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from scipy.stats import binom, norm

from fedward.auditing.noise_family import NoiseFamily
from fedward.auditing.one_run_bound import right_guesses
from fedward.auditing.one_run_curve import Inverse, one_run_family_epsilon, refutes


def inverse_of_gaussian(mu: float) -> Inverse:
    return Inverse.of(lambda fpr: norm.cdf(norm.ppf(fpr) + mu))


def test_the_inverse_is_that_of_the_curve_and_never_above_it() -> None:
    inverse = inverse_of_gaussian(1.0)
    for fpr in (1e-6, 0.01, 0.3, 0.9):
        found = inverse(float(norm.cdf(norm.ppf(fpr) + 1.0)))
        assert found == pytest.approx(fpr, rel=1e-3)
    assert inverse(0.0) == 0.0


def test_one_guess_about_one_canary_is_refuted_where_its_curve_says_so() -> None:
    # The best test of N(0, 1) and N(1, 1) is right with probability 0.69: no error below that refutes it.
    inverse = inverse_of_gaussian(1.0)
    assert not refutes(inverse, 1, 1, 1, 0.68)
    assert refutes(inverse, 1, 1, 1, 0.70)


def test_a_sound_mechanism_is_rarely_refuted_and_a_leaky_one_often() -> None:
    rng, wrong, caught = np.random.default_rng(2), 0, 0
    inverse = inverse_of_gaussian(1.0)
    for _ in range(300):
        truth = rng.random(150) < 0.5
        for mu in (1.0, 3.0):
            scores = mu * truth + rng.standard_normal(150)
            right = right_guesses(scores, truth, 30, 30)
            refuted = refutes(inverse, 150, 60, right, 0.1)
            wrong += refuted and mu == 1.0
            caught += refuted and mu == 3.0
    assert wrong <= binom.ppf(0.999, 300, 0.1)
    assert caught > 250


def test_the_bound_is_below_the_epsilon_of_the_mechanism() -> None:
    rng = np.random.default_rng(3)
    family = NoiseFamily.of([(GaussianDpEvent(1.0), 1)], "add/remove", 1e-5)
    truth = rng.random(600) < 0.5
    right = right_guesses(truth + rng.standard_normal(600), truth, 60, 60)
    assert 0.8 < one_run_family_epsilon(family, 600, 120, right, 0.05) < family.epsilon(1.0)
