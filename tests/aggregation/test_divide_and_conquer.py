from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aggregation.watched_rounds import normal_rows, watch
from fedward.aggregation import DivideAndConquer
from fedward.aggregation.divide_and_conquer import outlier_scores
from fedward.base.validate import InvalidType, InvalidValue


def scores_by_definition(rows: Any) -> Any:
    wide = np.stack([np.asarray(row, dtype=np.float64) for row in rows])
    centred = wide - wide.mean(0)
    return (centred @ np.linalg.svd(centred)[2][0]) ** 2


@given(st.integers(2, 9), st.integers(1, 12), st.integers(0, 99))
def test_scores_are_those_of_the_definition(count: int, size: int, seed: int) -> None:
    rows = normal_rows(count, size, seed)
    assert np.allclose(outlier_scores(rows), scores_by_definition(rows), atol=1e-9)


def test_the_result_is_the_mean_of_the_rows_that_stay_each_time() -> None:
    rows = [*normal_rows(9, 30), *normal_rows(3, 30, 5, mean=4.0)]
    rule = DivideAndConquer(malicious=3, filtered=1.5, times=3, coordinates=10)
    result, _ = watch(rule, rows, seed=7)
    rng, stay = np.random.default_rng(7), set(range(12))
    for _ in range(3):
        drawn = np.sort(rng.choice(30, size=10, replace=False))
        scores = scores_by_definition([row.numpy()[drawn] for row in rows])
        stay &= set(np.argsort(scores, kind="stable")[: 12 - 4].tolist())
    assert torch.allclose(result, torch.stack([rows[i] for i in sorted(stay)]).double().mean(0))


def test_colluding_rows_far_from_the_others_are_left_out() -> None:
    honest, bad = normal_rows(12, 50), [torch.full((50,), 3.0)] * 4
    result, _ = watch(DivideAndConquer(malicious=4), [*honest, *bad])
    assert torch.allclose(result, torch.stack(honest).double().mean(0))


def test_where_no_row_stays_each_time_those_that_stay_most_often_count() -> None:
    rows = normal_rows(4, 40)
    rule = DivideAndConquer(malicious=3, times=20, coordinates=1)
    result, _ = watch(rule, rows)
    assert bool(torch.isfinite(result).all())


def test_nobody_is_left_out_where_no_row_is_bad_and_huge_rows_do_not_overflow() -> None:
    rows = normal_rows(5, 3)
    assert torch.allclose(watch(DivideAndConquer(malicious=0), rows)[0], torch.stack(rows).double().mean(0))
    huge = [*(row.double() for row in rows), torch.full((3,), 1e300, dtype=torch.float64)]
    assert float(watch(DivideAndConquer(malicious=1), huge)[0].abs().max()) < 10


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"malicious": -1}, InvalidValue),
        ({"malicious": 1, "filtered": 0.0}, InvalidValue),
        ({"malicious": 1, "times": 0}, InvalidValue),
        ({"malicious": 1, "coordinates": 1.5}, InvalidType),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="must be"):
        DivideAndConquer(**arguments)
