from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedward.attacks import Attacker
from fedward.attacks.model_poisoning import InnerProductManipulation
from fedward.base.validate import InvalidValue
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Sight
from fedward.presets import norm_bounding
from fedward.sampling import EveryoneSampler
from support import one_round, tiny_federation, tiny_model, tiny_sgd

SIZE = ParameterSpec.of(tiny_model()).size


def sent(factor: float, honest: Any) -> Tensor:
    rows = None if honest is None else torch.as_tensor(honest)
    update = torch.full((3,), 7.0)
    cohort = None if honest is None else tuple(range(1 + len(honest)))
    sight = Sight(
        round=0, parameters=torch.zeros(3), bounds=(), own={0: update.clone()}, cohort=cohort, honest=rows
    )
    return InnerProductManipulation(factor=factor).tamper(update, sight, np.random.default_rng(0))


COORDINATES = st.lists(st.floats(min_value=-1e3, max_value=1e3, width=32), min_size=3, max_size=3)


@given(st.lists(COORDINATES, min_size=1, max_size=6), st.floats(min_value=1e-3, max_value=1e3))
def test_the_row_is_the_honest_mean_backwards(rows: list[list[float]], factor: float) -> None:
    mean = sum(np.array(rows, dtype=np.float32).astype(np.float64)) / len(rows)
    row = sent(factor, np.array(rows, dtype=np.float32)).double().numpy()
    assert np.allclose(row, -factor * mean, rtol=1e-6, atol=1e-12)
    assert float(row @ mean) <= 0


@pytest.mark.parametrize(("factor", "uphill"), [(1.9, False), (2.1, True)])
def test_a_plain_mean_goes_uphill_once_the_attackers_outweigh_the_others(factor: float, uphill: bool) -> None:
    algorithm = norm_bounding(num_users=12, sampler=EveryoneSampler(), local=tiny_sgd(), clip_bound=1e9)
    crew = Attacker(
        users=frozenset({0, 3, 4, 11}),
        knowledge="cohort",
        rounds=None,
        data=(),
        model=(InnerProductManipulation(factor=factor),),
    )
    rows = torch.randn(12, SIZE, generator=torch.Generator().manual_seed(0))
    state = algorithm.init(torch.zeros(SIZE))
    after, _, _ = one_round(algorithm, state, tiny_federation(), lambda u: rows[u], adversary=crew)
    honest = torch.stack([rows[u] for u in range(12) if u not in crew.users]).mean(0)
    assert (float(after.parameters @ honest) < 0) == uphill
    assert torch.allclose(after.parameters, honest * (8 - 4 * factor) / 12, atol=1e-6)


def test_without_honest_rows_there_is_nothing_to_oppose() -> None:
    assert torch.equal(sent(2.0, np.zeros((0, 3), dtype=np.float32)), torch.zeros(3))


def test_honest_rows_that_the_server_will_reject_do_not_count() -> None:
    rows = np.array([[1, 2, 3], [math.nan, 0, 0], [0, math.inf, 0], [3, 2, 1]], dtype=np.float32)
    assert sent(0.5, rows).tolist() == [-1.0, -1.0, -1.0]


def test_huge_rows_do_not_overflow_on_the_way() -> None:
    assert np.allclose(sent(1.0, np.full((8, 3), 3e38, dtype=np.float32)).numpy(), -3e38)
    assert not bool(torch.isfinite(sent(1e30, np.full((8, 3), 3e38, dtype=np.float32))).any())


def test_attackers_who_do_not_know_the_honest_rows_are_refused() -> None:
    with pytest.raises(InvalidValue, match="needs attackers that know the cohort and all honest rows"):
        sent(1.0, None)


@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, math.inf, True])
def test_an_opposite_of_no_length_is_refused(factor: float) -> None:
    with pytest.raises(InvalidValue, match="scale factor must be"):
        InnerProductManipulation(factor=factor)
