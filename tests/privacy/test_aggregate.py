from __future__ import annotations

import math

import pytest
from dp_accounting import (
    DpEvent,
    GaussianDpEvent,
    NonPrivateDpEvent,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.privacy import epsilon_of
from fedward.privacy.aggregate import aggregate_event

STEP = PoissonSampledDpEvent(0.4, GaussianDpEvent(3.0))


@given(st.floats(0.01, 1.0), st.floats(0.1, 50.0), st.integers(1, 1000), st.floats(0.01, 1.0), st.booleans())
def test_the_noise_of_a_cohort_is_that_of_a_user_times_the_root_of_its_size(
    p: float, z: float, m: int, q: float, wrapped: bool
) -> None:
    local: DpEvent = PoissonSampledDpEvent(p, GaussianDpEvent(z))
    event = aggregate_event(SelfComposedDpEvent(local, 1) if wrapped else local, m, q)
    sampled = p * q < 1
    inner = event.event if sampled else event
    assert inner.noise_multiplier**2 == pytest.approx(m * z**2)
    if sampled:
        assert event.sampling_probability == p * q


def test_the_two_bounds_of_xie_et_al_are_reproduced() -> None:
    """Figure 12, round 200: the paper's claim counts the drawing of users, Dopamine's bound does not."""
    for rate, wanted in ((1.0, "2.1303"), (20 / 30, "1.4029")):
        event = aggregate_event(STEP, 20, rate)
        assert f"{epsilon_of([(event, 200)], 1e-5, 'moments', 'add/remove'):.4f}" == wanted


def test_a_full_batch_of_all_users_is_a_plain_gaussian() -> None:
    assert aggregate_event(GaussianDpEvent(2.0), 9) == GaussianDpEvent(6.0)
    assert aggregate_event(PoissonSampledDpEvent(1.0, GaussianDpEvent(2.0)), 4) == GaussianDpEvent(4.0)


def test_noise_does_not_add_up_over_several_steps() -> None:
    with pytest.raises(InvalidValue, match=r"where each user takes one local step a round, got 26$"):
        aggregate_event(SelfComposedDpEvent(STEP, 26), 20)


@pytest.mark.parametrize(
    "local", [NonPrivateDpEvent(), PoissonSampledDpEvent(0.4, NonPrivateDpEvent())], ids=str
)
def test_without_noise_nothing_adds_up(local: DpEvent) -> None:
    with pytest.raises(InvalidValue, match="one local step a round with Gaussian noise, got NonPrivate"):
        aggregate_event(local, 20)


@pytest.mark.parametrize("cohort", [0, -1, math.inf, math.nan])
def test_a_cohort_of_nobody_is_refused(cohort: float) -> None:
    with pytest.raises(InvalidValue, match="cohort must be positive and finite"):
        aggregate_event(STEP, cohort)


@pytest.mark.parametrize("user_rate", [0.0, 1.5, -0.1, math.nan])
def test_users_are_drawn_with_a_probability(user_rate: float) -> None:
    with pytest.raises(InvalidValue, match="user rate must be above 0 and at most 1"):
        aggregate_event(STEP, 20, user_rate)
