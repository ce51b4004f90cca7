from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from aggregation.watched_rounds import normal_rows, watch
from fedward.aggregation import FLDetector
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.types import Memory

CURVE = torch.tensor([0.5, 1.0, 1.5, 2.0])


def training(
    rule: FLDetector, rounds: int, bad: Any, users: int = 12, attackers: int = 3
) -> tuple[list[Tensor], Memory]:
    """Users whose updates are gradient steps on bowls of their own; the first few send something else."""
    centres, parameters = normal_rows(users, 4, 9), torch.zeros(4)
    memory, results = None, []
    rng = np.random.default_rng(1)
    for round in range(rounds):
        rows = [0.1 * CURVE * (centre - parameters) for centre in centres]
        rows = [bad(row, round, rng) if user < attackers else row for user, row in enumerate(rows)]
        result, memory = watch(rule, rows, memory=memory, round=round, parameters=parameters, seed=round)
        parameters = parameters + result.float()
        results.append(result)
    assert memory is not None
    return results, memory


def bfgs(moves: list[Any], changes: list[Any], size: int) -> Any:
    """The approximation of the curvature, pair after pair, as a matrix; zeros where nothing is known."""
    if not moves or moves[-1] @ changes[-1] <= 0:
        return np.zeros((size, size))
    b = np.eye(size) * (changes[-1] @ moves[-1]) / (moves[-1] @ moves[-1])
    for s, y in zip(moves, changes, strict=True):
        b = b - np.outer(b @ s, b @ s) / (s @ b @ s) + np.outer(y, y) / (y @ s)
    return b


@pytest.mark.parametrize("window", [3, 5])
def test_scores_are_those_of_the_definition(window: int) -> None:
    """In gradients, as in the paper: g = -Δ, predicted as g of the last round + B (w_t - w_{t-1})."""
    rounds, users = 8, 6
    models = np.cumsum(np.random.default_rng(2).normal(size=(rounds, 4)), axis=0).astype(np.float32)
    rule, memory = FLDetector(window=window), None
    gradients: list[Any] = []
    moves: list[Any] = []
    changes: list[Any] = []
    for t in range(rounds):
        here = torch.from_numpy(models[t])
        bend = 0.1 * torch.sin(here)  # not quite a bowl: otherwise every prediction would be right
        now = [-(CURVE * (here - centre) + bend * (1 + centre)) for centre in normal_rows(users, 4, 9)]
        _, memory = watch(rule, now, memory=memory, round=t, parameters=here, seed=t)
        g = np.array([-row.double().numpy() for row in now])
        if t > 0:
            moved = (models[t] - models[t - 1]).astype(np.float64)
            predicted = gradients[-1] + bfgs(moves[-window:], changes[-window:], 4) @ moved
            distances = np.linalg.norm(g - predicted, axis=1)
            found = memory[6][memory[6][:, 1] == t]
            assert np.allclose(found[:, 2], distances / distances.sum(), atol=1e-6)
            moves.append(moved)
            changes.append(g.mean(axis=0) - gradients[-1].mean(axis=0))
        gradients.append(g)


def noise(row: Tensor, round: int, rng: np.random.Generator) -> Tensor:
    return torch.from_numpy(rng.normal(size=4)).float()


def test_users_that_send_noise_are_found_out_and_the_others_stay() -> None:
    results, memory = training(FLDetector(window=5), 12, noise)
    assert memory[-1].tolist() == [0, 1, 2]
    without, _ = training(FLDetector(window=5), 12, lambda row, round, rng: row)
    assert float(results[-1].norm()) < 1.0
    assert bool(torch.isfinite(torch.stack(without)).all())


def test_honest_users_alone_are_left_alone() -> None:
    results, memory = training(FLDetector(window=5), 10, lambda row, round, rng: row)
    assert not len(memory[-1])
    assert all(bool(torch.isfinite(result).all()) for result in results)


def test_before_the_window_is_full_it_is_the_mean() -> None:
    rows = normal_rows(5, 4)
    result, memory = watch(FLDetector(window=3), rows)
    assert torch.allclose(result, torch.stack(rows).double().mean(0))
    assert not len(memory[-1])
    assert [len(each) for each in memory[4:7]] == [0, 0, 0]  # no move, no change, no score yet


def test_a_prediction_follows_the_curvature_that_was_seen() -> None:
    _, memory = training(FLDetector(window=6), 6, lambda row, round, rng: row)
    last = memory[6][memory[6][:, 1] == 5]
    assert last[:, 0].tolist() == list(range(12))
    assert float(last[:, 2].sum()) == pytest.approx(1.0)
    assert len(memory[4]) == 5


def test_users_that_were_not_in_the_last_round_have_no_score() -> None:
    rule = FLDetector(window=4)
    _, memory = watch(rule, normal_rows(3, 4), users=(1, 4, 6))
    _, memory = watch(rule, normal_rows(3, 4, 1), users=(4, 5, 6), memory=memory, round=1)
    assert memory[6][:, 0].tolist() == [4, 6]


def test_where_all_have_been_found_out_the_model_stays() -> None:
    rule = FLDetector(window=2)
    memory = list(rule.first_memory(torch.zeros(4)))
    memory[-1] = torch.tensor([0, 1])
    result, _ = watch(rule, normal_rows(2, 4), memory=tuple(memory))
    assert not result.any()


@pytest.mark.parametrize(("window", "error"), [(0, InvalidValue), (1.5, InvalidType)])
def test_a_window_of_nothing_is_refused(window: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="window must be"):
        FLDetector(window=window)
