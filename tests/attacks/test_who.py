from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.attacks import WHO, NamedUsers, PerCohort, RandomUsers
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.federation import Federation
from support import tiny_federation


def people(*names: Any) -> Federation:
    return Federation.from_arrays([[float(i)] for i in range(len(names))], [0] * len(names), names)


def chosen(who: Any, federation: Federation, seed: int = 0) -> frozenset[int]:
    users: frozenset[int] = who.choose(federation, np.random.default_rng(seed))
    return users


def test_named_users_are_found_by_the_names_that_the_data_has() -> None:
    assert chosen(NamedUsers(users=("eve", "ann")), people("ann", "bob", "eve")) == {0, 2}
    assert chosen(NamedUsers(users=(30, 10)), people(10, 20, 30)) == {0, 2}
    assert chosen(NamedUsers(users=("30",)), people(10, 20, 30)) == {2}
    assert chosen(NamedUsers(users=()), people("ann", "bob")) == frozenset()


def test_names_can_be_taken_from_the_federation_itself() -> None:
    for federation in (people(10, 20, 30), people("ann", "bob", "eve")):
        assert chosen(NamedUsers(users=tuple(federation.names[1:])), federation) == {1, 2}


def test_a_name_that_nobody_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidValue, match="attacker 'evee' is not among the 3 users; did you mean 'eve'"):
        chosen(NamedUsers(users=("evee",)), people("ann", "bob", "eve"))
    with pytest.raises(InvalidValue, match="attacker 12 is not among the 12 users"):
        chosen(NamedUsers(users=(12,)), tiny_federation())


@pytest.mark.parametrize("users", [("eve", "ann", "eve"), (3, "3"), (np.int64(3), 3)])
def test_a_user_named_twice_is_refused(users: Any) -> None:
    with pytest.raises(InvalidValue, match=r"attackers must not repeat a user, got '(eve|3)' twice"):
        NamedUsers(users=users)


@pytest.mark.parametrize("users", ["eve", ["eve"], 3, (True,), (1.5,), (None,), {"eve"}])
def test_names_of_a_wrong_type_are_refused(users: Any) -> None:
    with pytest.raises(InvalidType, match="attackers must be a tuple of names of users, got"):
        NamedUsers(users=users)


@given(count=st.integers(0, 12), seed=st.integers(0, 50))
def test_random_users_are_as_many_as_asked_for_and_follow_the_seed(count: int, seed: int) -> None:
    federation = tiny_federation()
    for who in (RandomUsers(count=count), PerCohort(count=count, each=0)):
        users = chosen(who, federation, seed)
        assert len(users) == count
        assert users <= set(range(12))
        assert all(type(user) is int for user in users)
        assert users == chosen(who, federation, seed)


def test_every_user_is_as_likely_an_attacker_as_any_other() -> None:
    federation, rng = tiny_federation(), np.random.default_rng(0)
    for who in (RandomUsers(count=3), PerCohort(count=3, each=1)):
        counts = np.zeros(12)
        for _ in range(2000):
            counts[list(who.choose(federation, rng))] += 1
        assert np.abs(counts - 500).max() < 6 * np.sqrt(2000 * 0.25 * 0.75)


@pytest.mark.parametrize(
    "who",
    [RandomUsers(count=13), PerCohort(count=13, each=1), NamedUsers(users=tuple(range(13)))],
    ids=repr,
)
def test_more_attackers_than_users_are_refused(who: Any) -> None:
    with pytest.raises(
        InvalidValue, match="number of attackers must be at most the number of users, 12, got 13"
    ):
        chosen(who, tiny_federation())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomUsers(count=-1), "number of attackers must be at least 0, got -1"),
        (lambda: RandomUsers(count=1.5), "number of attackers must be a whole number, got 1.5"),  # type: ignore[arg-type]
        (lambda: PerCohort(count=-1, each=0), "number of attackers must be at least 0, got -1"),
        (lambda: PerCohort(count=2, each=-1), "attackers in every cohort must be at least 0, got -1"),
        (lambda: PerCohort(count=2, each=True), "attackers in every cohort must be a whole number, got True"),
        (
            lambda: PerCohort(count=2, each=3),
            "attackers in every cohort must be at most the number of attackers, 2, got 3",
        ),
    ],
)
def test_impossible_numbers_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()


def test_only_per_cohort_asks_for_a_number_in_every_cohort() -> None:
    assert set(WHO) == {"named", "random", "per_cohort"}
    assert NamedUsers(users=("a",)).per_cohort is None
    assert RandomUsers(count=2).per_cohort is None
    assert PerCohort(count=2, each=1).per_cohort == 1
