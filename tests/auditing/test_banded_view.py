from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from fedward.auditing.banded_view import BandedView
from fedward.local import SGD
from fedward.presets import dp_ftrl, user_dp_fedavg
from fedward.sampling import PoissonSampler

LOCAL = SGD(learning_rate=0.1, batch_size=2, epochs=1)
STRATEGY = (1.0, 0.6, 0.3)
VIEW = BandedView(strategy=STRATEGY, turns=(1, 4), rounds=6, noise=2.0, rate=1.0)


def released(inside: bool, count: int) -> NDArray[np.float64]:
    """Means of six rounds, in units of a contribution, with the noise that the strategy makes."""
    rng, found = np.random.default_rng(int(inside)), np.zeros((count, 6))
    fresh = rng.standard_normal((count, 6)) * (2.0 * math.hypot(*STRATEGY))
    for t in range(6):
        for k in range(1, min(2, t) + 1):
            fresh[:, t] -= STRATEGY[k] * fresh[:, t - k]
        found[:, t] = fresh[:, t] + float(inside and t in (1, 4))
    return found


@pytest.mark.parametrize("inside", [True, False])
def test_each_turn_is_a_gaussian_of_its_own(inside: bool) -> None:
    turns = VIEW.taken_apart(released(inside, 40_000))
    deviations = [law.std for law in VIEW.laws]
    assert turns.mean(axis=0) == pytest.approx([float(inside)] * 2, abs=0.06)
    assert turns.std(axis=0) == pytest.approx(deviations, rel=0.02)
    assert abs(np.asarray(np.corrcoef(turns.T))[0, 1]) < 0.03


def test_a_whole_turn_has_the_noise_of_the_claim_and_a_cut_one_more() -> None:
    first, last = VIEW.laws
    assert first.std == 2.0
    assert last.std == pytest.approx(2.0 * math.hypot(*STRATEGY) / math.hypot(1.0, 0.6))


@pytest.mark.parametrize(("amplified", "rate"), [(False, 1.0), (True, 0.5)])
def test_the_view_is_that_of_the_algorithm(amplified: bool, rate: float) -> None:
    algorithm = dp_ftrl(
        num_users=8,
        local=LOCAL,
        rounds=5,
        separation=3,
        noise_multiplier=2.0,
        clip_bound=1.0,
        there=rate,
        amplified=amplified,
    )
    view = BandedView.of(algorithm, 7, 5)
    assert view is not None
    assert (view.turns, view.rate, view.noise) == ((1, 4), rate, 2.0)
    assert len(view.strategy) == 3


def test_noise_of_a_round_alone_has_no_such_view() -> None:
    algorithm = user_dp_fedavg(
        num_users=8, sampler=PoissonSampler(rate=0.5), local=LOCAL, noise_multiplier=2.0, clip_bound=1.0
    )
    assert BandedView.of(algorithm, 7, 3) is None
