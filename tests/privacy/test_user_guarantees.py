from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedward.privacy import Guarantee
from fedward.privacy.user_guarantees import Guarantees


def guarantee(epsilon: float) -> Guarantee:
    return Guarantee(
        epsilon=epsilon,
        delta=1e-5,
        unit="example",
        adjacency="add/remove",
        sampling="noise at the user",
        accountant="rdp",
        noise_source="seeded",
        rounds=1,
        reason="" if math.isfinite(epsilon) else "a release was not private",
    )


def of(*groups: tuple[float, int]) -> Guarantees:
    return Guarantees(
        each=tuple(guarantee(epsilon) for epsilon, _ in groups),
        users=np.array([users for _, users in groups]),
    )


EPSILONS = st.sampled_from([0.0, 0.5, 1.25, 3.0, math.inf])
GROUPS = st.lists(st.tuples(EPSILONS, st.integers(1, 5)), min_size=1, max_size=6)


@given(GROUPS)
def test_it_says_of_all_users_what_a_list_of_them_would(groups: list[tuple[float, int]]) -> None:
    each = sorted(epsilon for epsilon, users in groups for _ in range(users))
    found = of(*groups)
    assert found.worst.epsilon == each[-1]
    assert found.median == each[(len(each) - 1) // 2]
    assert list(found.histogram()) == [(epsilon, each.count(epsilon)) for epsilon in sorted(set(each))]


@given(GROUPS)
def test_it_becomes_json_without_infinities(groups: list[tuple[float, int]]) -> None:
    found = of(*groups)
    content = found.to_json()
    assert content["largest"] == (found.worst.epsilon if found.worst.private else None)
    assert content["median"] == (found.median if math.isfinite(found.median) else None)
    assert [(math.inf if e is None else e, n) for e, n in content["histogram"]] == list(found.histogram())


def test_two_histories_of_one_epsilon_are_one_in_words() -> None:
    found = of((0.5, 2), (1.25, 1), (0.5, 1_000))
    assert str(found) == "ε of a user: median 0.5000, largest 1.2500 (2 different, 1,003 users)"


def test_one_user_without_a_guarantee_leaves_no_number_to_state() -> None:
    assert str(of((0.5, 9), (math.inf, 1))) == "no guarantee: a release was not private"
