from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from aggregation.watched_rounds import normal_rows, watch
from fedward.aggregation import CentredClipping
from fedward.base.validate import InvalidType, InvalidValue


def by_definition(rows: Any, centre: Any, radius: float, steps: int) -> Any:
    for _ in range(steps):
        away = [np.asarray(row, dtype=np.float64) - centre for row in rows]
        centre = centre + sum(a * min(1.0, radius / np.linalg.norm(a)) for a in away) / len(rows)
    return centre


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("radius", [0.1, 1.0, 100.0])
def test_two_rounds_are_those_of_the_definition(radius: float, steps: int) -> None:
    rule = CentredClipping(radius=radius, steps=steps)
    first, memory = watch(rule, normal_rows(7, 5, 1))
    assert np.allclose(first, by_definition(normal_rows(7, 5, 1), np.zeros(5), radius, steps))
    second, _ = watch(rule, normal_rows(7, 5, 2), memory=memory, round=1)
    assert np.allclose(second, by_definition(normal_rows(7, 5, 2), first.numpy(), radius, steps))


def test_one_bad_row_moves_it_by_no_more_than_the_radius_over_their_number() -> None:
    rows, rule = normal_rows(9, 4), CentredClipping(radius=0.5)
    good, _ = watch(rule, [*rows, torch.zeros(4)])
    for bad in (torch.full((4,), 3e38), torch.tensor([900.0, 0, 0, 0])):
        moved, _ = watch(rule, [*rows, bad])
        assert float((moved - good).norm()) <= 0.5 / 10 * (1 + 1e-9)


def test_a_wide_radius_is_the_mean() -> None:
    rows = normal_rows(6, 3)
    result, _ = watch(CentredClipping(radius=1e6), rows)
    assert torch.allclose(result, torch.stack(rows).double().mean(0))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"radius": 0.0}, InvalidValue),
        ({"radius": math.inf}, InvalidValue),
        ({"radius": 1.0, "steps": 0}, InvalidValue),
        ({"radius": "1"}, InvalidType),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="must be"):
        CentredClipping(**arguments)
