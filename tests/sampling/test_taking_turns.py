from __future__ import annotations

import itertools

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.privacy.participation import Participation
from fedward.sampling.taking_turns import TakingTurns
from fedward.testing import check_sampler


@given(
    users=st.integers(1, 40),
    separation=st.integers(1, 9),
    most=st.integers(1, 5),
    there=st.floats(0.1, 1.0),
    seed=st.integers(0, 9),
)
def test_nobody_ever_takes_part_outside_of_the_schema(
    users: int, separation: int, most: int, there: float, seed: int
) -> None:
    turns = TakingTurns(separation=separation, most=most, there=there)
    rounds: list[list[int]] = [[] for _ in range(users)]
    for t in range(3 * separation * most):
        for user in turns.at_round(t).draw(users, np.random.default_rng([seed, t])).tolist():
            rounds[user].append(t)
    for own in rounds:
        assert len(own) <= most
        assert all(b - a >= separation for a, b in itertools.pairwise(own))


@given(users=st.integers(2, 30), separation=st.integers(1, 5))
def test_who_takes_part_does_not_depend_on_who_else_joined(users: int, separation: int) -> None:
    turns = TakingTurns(separation=separation, most=2)
    for t in range(2 * separation):
        few = turns.at_round(t).draw(users, np.random.default_rng(0))
        more = turns.at_round(t).draw(users + 3, np.random.default_rng(0))
        assert few.tolist() == [user for user in more.tolist() if user < users]


def test_everybody_comes_to_turn_in_as_many_rounds_as_there_are_groups() -> None:
    turns = TakingTurns(separation=4, most=1)
    seen = [turns.at_round(t).draw(11, np.random.default_rng(0)) for t in range(4)]
    assert sorted(np.concatenate(seen).tolist()) == list(range(11))
    assert turns.expected_size(11) == 11 / 4


def test_only_a_secret_coin_gains_something_from_drawing() -> None:
    event = GaussianDpEvent(3.0)
    assert TakingTurns(separation=3, most=2, there=0.5).amplify(event, 12) == event
    secret = TakingTurns(separation=3, most=2, there=0.5, secret=True)
    assert secret.amplify(event, 12) == PoissonSampledDpEvent(0.5, event)


@pytest.mark.parametrize("secret", [False, True])
def test_it_keeps_the_promises_of_a_sampler(secret: bool) -> None:
    assert check_sampler(TakingTurns(separation=3, most=2, there=0.5, secret=secret))


def test_a_schema_allows_what_is_rarer_or_further_apart() -> None:
    schema = Participation(most=3, separation=4)
    for most, separation, allowed in ((3, 4, True), (2, 9, True), (1, 1, True), (4, 4, False), (3, 3, False)):
        assert schema.allows(Participation(most=most, separation=separation)) is allowed


def test_more_groups_than_users_are_refused() -> None:
    with pytest.raises(InvalidValue, match="separation must be at most the number of users, 3"):
        TakingTurns(separation=4, most=1).check(3)
