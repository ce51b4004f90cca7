from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import MeanShift, estimate_bandwidth

from fedward.aggregation.mean_shift import bandwidth, largest_cluster


@given(st.integers(2, 20), st.integers(0, 200))
def test_the_bandwidth_is_the_usual_estimate(count: int, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    usual = estimate_bandwidth(points, quantile=0.5)
    assert bandwidth(torch.from_numpy(points)) == pytest.approx(usual, abs=1e-6)


@settings(max_examples=15)
@given(st.integers(3, 15), st.integers(0, 200))
def test_two_clouds_are_told_apart_as_by_scikit_learn(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    few = max(1, count // 3)
    points = np.concatenate([rng.normal(size=(count, 3)), 50 + rng.normal(size=(few, 3))])
    wide = bandwidth(torch.from_numpy(points))
    labels = MeanShift(bandwidth=wide).fit_predict(points)
    wanted = np.flatnonzero(labels == np.bincount(labels).argmax())
    assert largest_cluster(torch.from_numpy(points)) == wanted.tolist()


def test_points_that_are_all_equal_or_alone_are_one_cluster() -> None:
    assert largest_cluster(torch.ones(4, 3, dtype=torch.float64)) == [0, 1, 2, 3]
    assert largest_cluster(torch.ones(1, 3, dtype=torch.float64)) == [0]
