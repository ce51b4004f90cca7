from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from aggregation.watched_rounds import normal_rows, watch
from fedward.aggregation import SignGuard
from fedward.aggregation.mean_shift import largest_cluster
from fedward.base.validate import InvalidType, InvalidValue


def test_the_result_is_that_of_the_definition() -> None:
    rows = [*normal_rows(8, 40, mean=0.5), *(10 * row for row in normal_rows(2, 40, 3, mean=-0.5))]
    result, memory = watch(SignGuard(share=0.5, upper=2.0), rows, seed=4)
    drawn = np.sort(np.random.default_rng(4).choice(40, size=20, replace=False))
    wide = torch.stack(rows).double().numpy()
    norms = np.linalg.norm(wide, axis=1)
    median = float(np.median(norms))
    features = [[(row[drawn] > 0).mean(), (row[drawn] == 0).mean(), (row[drawn] < 0).mean()] for row in wide]
    like = largest_cluster(torch.tensor(features))
    good = [i for i in like if 0.1 <= norms[i] / median <= 2.0]
    wanted = sum(wide[i] * min(1.0, median / norms[i]) for i in good) / len(good)
    assert np.allclose(result, wanted)
    assert memory == ()


def test_rows_too_long_too_short_or_of_other_signs_are_left_out() -> None:
    honest = normal_rows(9, 30, mean=1.0)
    length = float(torch.stack(honest).norm(dim=1).median())
    bad = [1e6 * honest[0], 1e-6 * honest[1], -honest[2], -honest[3]]
    result, _ = watch(SignGuard(share=1.0), [*honest, *bad])
    clipped = [row.double() * min(1.0, length / float(row.norm())) for row in honest]
    assert float((result - torch.stack(clipped).mean(0)).norm()) < 1.5


def test_where_nobody_passes_the_model_stays_and_zeros_pass() -> None:
    rows = [torch.full((4,), 1.0), torch.full((4,), -100.0)]
    assert not watch(SignGuard(lower=0.99, upper=1.0), rows)[0].any()
    assert not watch(SignGuard(), [torch.zeros(4)] * 3)[0].any()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"lower": -0.1}, InvalidValue),
        ({"upper": 0.0}, InvalidValue),
        ({"lower": 2.0, "upper": 1.0}, InvalidValue),
        ({"share": 0.0}, InvalidValue),
        ({"share": "1"}, InvalidType),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="must be"):
        SignGuard(**arguments)
