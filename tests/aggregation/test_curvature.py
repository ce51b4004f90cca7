from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.aggregation.curvature import curvature_times


@given(st.integers(2, 6), st.integers(1, 4), st.integers(0, 99))
def test_it_is_the_bfgs_recursion(size: int, pairs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    hessian = root @ root.T + 0.5 * np.eye(size)
    moves = rng.normal(size=(min(pairs, size), size))
    changes = moves @ hessian
    s, y = moves[-1], changes[-1]
    b = np.eye(size) * (y @ s) / (s @ s)
    for s, y in zip(moves, changes, strict=True):
        b = b - np.outer(b @ s, b @ s) / (s @ b @ s) + np.outer(y, y) / (y @ s)
    vector = rng.normal(size=size)
    found = curvature_times(*map(torch.from_numpy, (moves, changes, vector)))
    assert np.allclose(found, b @ vector, rtol=1e-5, atol=1e-5 * np.linalg.norm(b))


def test_without_pairs_or_positive_curvature_nothing_is_known() -> None:
    vector, none = torch.ones(3, dtype=torch.float64), torch.zeros(0, 3, dtype=torch.float64)
    assert not curvature_times(none, none, vector).any()
    assert not curvature_times(vector[None], -vector[None], vector).any()
    assert not curvature_times(0 * vector[None], vector[None], vector).any()
    same = vector.repeat(3, 1)
    assert torch.allclose(curvature_times(same, 2 * same, vector), 2 * vector)
