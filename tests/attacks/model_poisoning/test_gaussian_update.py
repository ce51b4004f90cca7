from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from fedward.attacks import Attacker
from fedward.attacks.model_poisoning import GaussianUpdate
from fedward.base.validate import InvalidValue
from fedward.core.parameters import ParameterSpec
from fedward.core.types import ServerState, Sight
from fedward.presets import norm_bounding
from fedward.sampling import EveryoneSampler
from support import one_round, tiny_federation, tiny_model, tiny_sgd

SIZE = ParameterSpec.of(tiny_model()).size


def drawn(std: float, update: Tensor, seed: int = 0) -> Tensor:
    sight = Sight(round=0, parameters=torch.zeros_like(update), bounds=(), own={0: update.clone()})
    return GaussianUpdate(std=std).tamper(update.clone(), sight, np.random.default_rng(seed))


def test_the_row_has_the_stated_deviation_and_no_mean() -> None:
    n, std = 40_000, 3.0
    row = drawn(std, torch.ones(n)).double()
    # Six standard errors of a sample mean, a sample deviation and a sample kurtosis.
    assert abs(float(row.mean())) < 6 * std / math.sqrt(n)
    assert float(row.std()) == pytest.approx(std, rel=6 / math.sqrt(2 * n))
    assert float((row / std).pow(4).mean()) == pytest.approx(3.0, abs=6 * math.sqrt(96 / n))


def test_what_was_trained_does_not_matter_and_the_deviation_only_stretches() -> None:
    assert torch.equal(drawn(1.0, torch.zeros(9)), drawn(1.0, torch.full((9,), math.inf)))
    assert torch.equal(drawn(4.0, torch.zeros(9)), 4 * drawn(1.0, torch.zeros(9)))
    assert not torch.equal(drawn(1.0, torch.zeros(9), seed=1), drawn(1.0, torch.zeros(9)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_row_has_the_shape_and_type_of_the_update(dtype: torch.dtype) -> None:
    row = drawn(1.0, torch.zeros(5, dtype=dtype))
    assert row.shape == (5,)
    assert row.dtype == dtype


def attacked_round(state: ServerState, users: set[int]) -> Tensor:
    algorithm = norm_bounding(num_users=12, sampler=EveryoneSampler(), local=tiny_sgd(), clip_bound=1e9)
    crew = Attacker(
        users=frozenset(users), knowledge="own", rounds=None, data=(), model=(GaussianUpdate(std=1.0),)
    )
    after, _, _ = one_round(
        algorithm, state, tiny_federation(), lambda u: torch.zeros(SIZE, dtype=torch.float64), adversary=crew
    )
    return (after.parameters - state.parameters) * 12


def test_attackers_and_rounds_draw_apart_and_the_same_again() -> None:
    algorithm = norm_bounding(num_users=12, sampler=EveryoneSampler(), local=tiny_sgd(), clip_bound=1e9)
    first = algorithm.init(torch.zeros(SIZE, dtype=torch.float64))
    second, _, _ = one_round(algorithm, first, tiny_federation(), lambda u: torch.zeros(SIZE))
    one, other, both = (attacked_round(first, users) for users in ({1}, {2}, {1, 2}))
    assert torch.equal(one, attacked_round(first, {1}))
    assert not torch.allclose(one, other)
    assert torch.allclose(both, one + other)
    assert not torch.allclose(one, attacked_round(second, {1}))


def test_noise_beyond_the_largest_number_is_left_to_the_server() -> None:
    assert not bool(torch.isfinite(drawn(1e300, torch.zeros(5))).any())


@pytest.mark.parametrize("std", [0.0, -1.0, math.nan, math.inf, True])
def test_a_deviation_that_is_not_positive_and_finite_is_refused(std: float) -> None:
    with pytest.raises(InvalidValue, match="standard deviation must be"):
        GaussianUpdate(std=std)
