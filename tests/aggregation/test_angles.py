from __future__ import annotations

import numpy as np
import pytest
import torch

from aggregation.watched_rounds import normal_rows
from fedward.aggregation.angles import cosine_distances, cosines, unit


def test_distances_are_those_of_the_definition() -> None:
    rows = normal_rows(6, 9)
    distances = cosine_distances(rows)
    for i, one in enumerate(rows):
        for j, other in enumerate(rows):
            a, b = one.double().numpy(), other.double().numpy()
            wanted = 1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b)
            assert float(distances[i, j]) == pytest.approx(wanted, abs=1e-12)
            assert cosines([one], other)[0] == pytest.approx(1 - wanted, abs=1e-12)


def test_zeros_have_no_direction_and_huge_rows_have_one() -> None:
    zero, huge = torch.zeros(3), torch.full((3,), 3e38)
    assert cosines([zero, huge], huge) == pytest.approx([0, 1])
    assert cosine_distances([zero, huge, zero]).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert torch.allclose(unit(huge), torch.full((3,), 3**-0.5, dtype=torch.float64))
