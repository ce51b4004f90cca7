from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from fedward.auditing.one_run_bound import chance_of_guesses, one_run_epsilon, right_guesses
from fedward.base.validate import InvalidValue


def test_without_delta_it_is_a_binomial_tail() -> None:
    for epsilon in (0.0, 1.0, 3.0):
        wanted = binom.sf(39, 50, math.exp(epsilon) / (1 + math.exp(epsilon)))
        assert chance_of_guesses(100, 50, 40, epsilon, 0.0) == pytest.approx(wanted)


def test_delta_only_makes_right_guesses_likelier() -> None:
    chances = [chance_of_guesses(100, 50, 45, 1.0, delta) for delta in (0.0, 1e-6, 1e-4, 1e-2)]
    assert chances == sorted(chances)
    assert chances[0] < chances[-1]


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_randomised_response_is_rarely_said_to_leak_more_than_it_does(epsilon: float) -> None:
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(400):
        truth = rng.random(200) < 0.5
        kept = rng.random(200) < 1 / (1 + math.exp(-epsilon))
        scores = np.where(truth == kept, 1.0, -1.0) + 1e-3 * rng.standard_normal(200)
        right = right_guesses(scores, truth, 60, 60)
        wrong += one_run_epsilon(200, 120, right, 0.0, 0.1) > epsilon
    assert wrong <= binom.ppf(0.999, 400, 0.1)


def test_guesses_are_about_the_ends() -> None:
    assert right_guesses([5, 4, 3, 2], [True, True, False, False], 1, 2) == 3
    assert right_guesses([5, 4, 3, 2], [False, True, False, True], 2, 1) == 1


def test_more_guesses_than_canaries_are_refused() -> None:
    with pytest.raises(InvalidValue, match="at most 2"):
        right_guesses([1.0, 2.0], [True, False], 2, 1)
    with pytest.raises(InvalidValue, match="from 0 to 5"):
        chance_of_guesses(10, 5, 6, 1.0, 0.0)
