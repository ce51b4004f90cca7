from __future__ import annotations

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.sampling import FixedSizeSampler, PoissonSampler
from fedward.sampling.some_users import SomeUsersSampler
from fedward.sampling.taking_turns import TakingTurns


def test_nobody_outside_the_group_is_ever_drawn() -> None:
    rng, users = np.random.default_rng(0), (1, 4, 7, 8)
    poisson = SomeUsersSampler(users=users, among=PoissonSampler(rate=0.5))
    drawn = [poisson.draw(10, rng) for _ in range(200)]
    assert {int(user) for cohort in drawn for user in cohort} == set(users)
    assert all(list(cohort) == sorted(cohort) for cohort in drawn)
    fixed = SomeUsersSampler(users=users, among=FixedSizeSampler(size=3))
    assert all(len(fixed.draw(10, rng)) == 3 for _ in range(20))
    assert fixed.expected_size(10) == 3
    assert poisson.expected_size(10) == 2


def test_a_group_without_users_draws_nobody() -> None:
    empty = SomeUsersSampler(users=())
    empty.check(3)
    assert empty.draw(3, np.random.default_rng(0)).tolist() == []
    assert empty.expected_size(3) == 0.0


def test_what_is_drawn_is_that_of_the_group_alone() -> None:
    """The same coins, whoever else there is: another user in another group changes nothing."""
    group = SomeUsersSampler(users=(0, 2, 5), among=PoissonSampler(rate=0.5))
    cohorts = [group.draw(n, np.random.default_rng(7)).tolist() for n in (6, 7, 100)]
    assert cohorts[0] == cohorts[1] == cohorts[2]


def test_groups_and_samplers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidValue, match="ascending"):
        SomeUsersSampler(users=(2, 1))
    with pytest.raises(InvalidValue, match="from 0 to 4, got 5"):
        SomeUsersSampler(users=(5,)).check(5)
    with pytest.raises(InvalidValue, match="in each round for itself"):
        SomeUsersSampler(users=(0, 1), among=TakingTurns(separation=2, most=2))
    with pytest.raises(InvalidValue):
        SomeUsersSampler(users=(0, 1), among=FixedSizeSampler(size=3)).check(5)
