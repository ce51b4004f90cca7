from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedward.attacks import Attacker
from fedward.attacks.model_poisoning import SignFlip
from fedward.base.validate import InvalidValue
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Sight
from fedward.presets import norm_bounding
from fedward.sampling import EveryoneSampler
from support import one_round, tiny_federation, tiny_model, tiny_sgd

SIZE = ParameterSpec.of(tiny_model()).size
ROWS = st.lists(st.floats(min_value=-(2.0**100), max_value=2.0**100, width=32), min_size=1, max_size=8)


def tampered(update: Tensor, factor: float = 1.0) -> Tensor:
    sight = Sight(round=0, parameters=torch.zeros_like(update), bounds=(), own={0: update.clone()})
    return SignFlip(factor=factor).tamper(update.clone(), sight, np.random.default_rng(0))


@given(ROWS)
def test_the_plain_flip_is_exact_and_undoes_itself(row: list[float]) -> None:
    update = torch.tensor(row)
    assert torch.equal(tampered(update), -update)
    assert torch.equal(tampered(tampered(update)), update)


@given(ROWS, st.floats(min_value=1e-3, max_value=1e3))
def test_a_factor_stretches_the_opposite(row: list[float], factor: float) -> None:
    wanted = (np.array(row, dtype=np.float32).astype(np.float64) * -factor).astype(np.float32)
    assert np.array_equal(tampered(torch.tensor(row), factor).numpy(), wanted)


def test_a_cohort_of_attackers_walks_the_other_way() -> None:
    algorithm = norm_bounding(num_users=12, sampler=EveryoneSampler(), local=tiny_sgd(), clip_bound=1e9)
    state = algorithm.init(torch.zeros(SIZE))
    everybody = Attacker(
        users=frozenset(range(12)), knowledge="own", rounds=None, data=(), model=(SignFlip(),)
    )
    rows = torch.randn(12, SIZE, generator=torch.Generator().manual_seed(0))
    attacked, _, _ = one_round(algorithm, state, tiny_federation(), lambda u: rows[u], adversary=everybody)
    clean, _, _ = one_round(algorithm, state, tiny_federation(), lambda u: rows[u])
    assert torch.equal(attacked.parameters, -clean.parameters)
    assert float(clean.parameters.norm()) > 0


@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, math.inf, True])
def test_a_flip_by_what_is_not_positive_is_refused(factor: float) -> None:
    with pytest.raises(InvalidValue, match="scale factor must be"):
        SignFlip(factor=factor)
