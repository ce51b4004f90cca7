from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aggregation.watched_rounds import normal_rows, watch
from fedward.aggregation import FoolsGold
from fedward.aggregation.fools_gold import fools_gold_weights
from fedward.base.validate import InvalidType, InvalidValue


def weights_by_definition(histories: Any, confidence: float) -> list[float]:
    h = [np.asarray(each, dtype=np.float64) for each in histories]
    n = len(h)
    cs = [[float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) for b in h] for a in h]
    v = [max(0.0, *(cs[i][j] for j in range(n) if j != i)) for i in range(n)]
    pardoned = [[cs[i][j] * v[i] / v[j] if v[j] > v[i] else cs[i][j] for j in range(n)] for i in range(n)]
    alpha = [min(1.0, max(0.0, 1 - max(pardoned[i][j] for j in range(n) if j != i))) for i in range(n)]
    top = max(alpha)
    found = []
    for a in (a / top for a in alpha):
        logit = math.inf if a == 1 else -math.inf if a == 0 else confidence * (math.log(a / (1 - a)) + 0.5)
        found.append(min(1.0, max(0.0, logit)))
    return found


@given(st.integers(2, 8), st.integers(2, 6), st.integers(0, 99), st.floats(0.5, 3.0))
def test_weights_are_those_of_the_definition(count: int, size: int, seed: int, confidence: float) -> None:
    rows = normal_rows(count, size, seed)
    found = fools_gold_weights([row.double() for row in rows], confidence)
    assert found == pytest.approx(weights_by_definition(rows, confidence), abs=1e-6)


def test_a_user_whose_updates_point_away_from_all_others_counts_whole() -> None:
    """Below zero a pardon would turn the sign of what it scales, and punish the one that is like nobody."""
    rows = [[1.0, 0.05, 0.0], [1.0, 0.0, 0.05], [-1.0, 0.0, 0.0], [0.0, -1.0, 1.0]]
    weights = fools_gold_weights([torch.tensor(row, dtype=torch.float64) for row in rows], 1.0)
    assert weights[2:] == [1.0, 1.0]
    assert weights[0] == weights[1] == 0


def test_histories_add_up_for_each_user_and_only_those_drawn_count() -> None:
    rule, first, second = FoolsGold(), normal_rows(4, 5, 1), normal_rows(3, 5, 2)
    _, memory = watch(rule, first, users=(0, 2, 3, 7))
    result, after = watch(rule, second, users=(2, 3, 9), memory=memory, round=1)
    histories = [first[1] + second[0], first[2] + second[1], second[2]]
    weights = weights_by_definition(histories, 1.0)
    wanted = torch.stack([w * row.double() for w, row in zip(weights, second, strict=True)]).mean(0)
    assert torch.allclose(result, wanted, atol=1e-5)
    assert after[0].tolist() == [0, 2, 3, 7, 9]


def test_copies_of_one_attacker_soon_count_nothing_and_different_users_count_whole() -> None:
    rule, memory = FoolsGold(), None
    honest = torch.eye(8)[:5]
    for round in range(3):
        result, memory = watch(rule, [*honest, *[torch.full((8,), 5.0)] * 3], memory=memory, round=round)
    assert torch.allclose(result, honest.sum(0).double() / 8)


def test_only_the_last_coordinates_are_compared_and_kept() -> None:
    rows = normal_rows(4, 6)
    result, memory = watch(FoolsGold(compared=2), rows)
    assert memory[1].shape == (4, 2)
    weights = weights_by_definition([row[-2:] for row in rows], 1.0)
    wanted = torch.stack([w * row.double() for w, row in zip(weights, rows, strict=True)]).mean(0)
    assert torch.allclose(result, wanted)


def test_rows_that_are_all_alike_move_nothing_and_one_alone_counts_whole() -> None:
    assert not watch(FoolsGold(), [torch.ones(3)] * 4)[0].any()
    assert torch.equal(watch(FoolsGold(), [torch.ones(3)])[0], torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"confidence": 0.0}, InvalidValue),
        ({"compared": 0}, InvalidValue),
        ({"compared": "all"}, InvalidType),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="must be"):
        FoolsGold(**arguments)
