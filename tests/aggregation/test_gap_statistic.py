from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from fedward.aggregation.gap_statistic import best_split, upper_group


@given(st.lists(st.floats(-10, 10), min_size=3, max_size=12, unique=True))
def test_the_split_is_no_worse_than_that_of_kmeans(values: list[float]) -> None:
    array = np.array(values)
    ascending = np.sort(array)
    split = best_split(array)
    ours = ascending[:split].var() * split + ascending[split:].var() * (len(array) - split)
    theirs = KMeans(n_clusters=2, n_init=3, random_state=0).fit(array[:, None]).inertia_
    assert ours <= theirs + 1e-9


def test_two_groups_far_apart_are_found_and_one_group_is_left_whole() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([0.05 + 0.002 * rng.random(16), 0.2 + 0.002 * rng.random(4)])
    assert upper_group(values, rng).tolist() == [False] * 16 + [True] * 4
    alarms = [upper_group(rng.normal(size=20), rng).any() for _ in range(60)]
    assert sum(alarms) <= 6


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0], [3.0, 3.0, 3.0, 3.0]])
def test_few_or_equal_numbers_are_one_group(values: list[float]) -> None:
    assert not upper_group(np.array(values), np.random.default_rng(0)).any()
