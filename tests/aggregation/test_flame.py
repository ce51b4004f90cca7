from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import HDBSCAN

from aggregation.watched_rounds import normal_rows, watch
from fedward.aggregation import Flame
from fedward.aggregation.angles import cosine_distances
from fedward.aggregation.flame import majority_cluster
from fedward.base.validate import InvalidType, InvalidValue


@given(st.integers(4, 14), st.integers(0, 200))
def test_the_cluster_is_that_of_hdbscan(count: int, seed: int) -> None:
    distances = cosine_distances(normal_rows(count, 5, seed))
    labels = HDBSCAN(
        min_cluster_size=count // 2 + 1,
        min_samples=1,
        allow_single_cluster=True,
        metric="precomputed",
        copy=True,
    ).fit_predict(distances.numpy())
    assert majority_cluster(distances) == np.flatnonzero(labels == 0).tolist()


@pytest.mark.parametrize("compared", ["models", "updates"])
def test_the_result_is_that_of_the_definition(compared: Any) -> None:
    rows, parameters = normal_rows(9, 5), torch.linspace(-1, 1, 5)
    result, _ = watch(Flame(noise=0.0, compared=compared), rows, parameters=parameters)
    turned = [row + parameters for row in rows] if compared == "models" else rows
    admitted = majority_cluster(cosine_distances(turned))
    bound = float(np.median([np.linalg.norm(row.double()) for row in rows]))
    clipped = [rows[i].double() * min(1.0, bound / float(rows[i].double().norm())) for i in admitted]
    assert torch.allclose(result, torch.stack(clipped).mean(0))


def test_noise_is_so_much_for_each_unit_of_the_median_norm() -> None:
    rows = [torch.full((4000,), 0.01)] * 5
    clean, noisy = (watch(Flame(noise=noise), rows, seed=3)[0] for noise in (0.0, 0.5))
    bound = 0.01 * 4000**0.5
    assert float((noisy - clean).std()) == pytest.approx(0.5 * bound, rel=0.1)


def test_rows_that_point_elsewhere_are_left_out() -> None:
    honest = normal_rows(8, 20, mean=3.0)
    result, _ = watch(Flame(noise=0.0, compared="updates"), [*honest, *[torch.full((20,), -3.0)] * 5])
    assert float((result - torch.stack(honest).double().mean(0)).norm()) < 2.0
    assert majority_cluster(torch.zeros(1, 1)) == [0]
    assert majority_cluster(torch.zeros(4, 4)) == [0, 1, 2, 3]


def test_its_noise_buys_no_epsilon_and_it_says_so() -> None:
    assert "no ε is proven" in Flame().own_noise
    assert Flame(noise=0.0).own_noise == ""


@pytest.mark.parametrize(
    ("arguments", "error"),
    [({"noise": -1.0}, InvalidValue), ({"noise": "1"}, InvalidType), ({"compared": "rows"}, InvalidValue)],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="must be"):
        Flame(**arguments)
