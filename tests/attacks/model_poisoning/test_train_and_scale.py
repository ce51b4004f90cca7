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
from fedward.attacks.model_poisoning import TrainAndScale
from fedward.backends.in_process import InProcess
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.parameters import ParameterSpec
from fedward.core.round import plan_round
from fedward.core.types import Sight
from fedward.local import ProjectedSGD
from fedward.sampling import EveryoneSampler
from support import plan_simulated, tiny_algorithm, tiny_federation, tiny_model, tiny_sgd

OWN = tiny_sgd(learning_rate=0.04, epochs=50, learning_rate_decay=0.5)


def tampered(part: TrainAndScale, update: Tensor) -> Tensor:
    sight = Sight(round=0, parameters=torch.zeros_like(update), bounds=(), own={0: update.clone()})
    return part.tamper(update.clone(), sight, np.random.default_rng(0))


def test_the_attacker_trains_with_its_own_learning_rate_of_the_round() -> None:
    trainer = TrainAndScale(local=OWN, factor=2.0).trainer(tiny_sgd(), 3, (0.5,))
    assert trainer == tiny_sgd(learning_rate=0.005, epochs=50)


def test_the_attackers_trainer_gets_the_bound_of_the_round() -> None:
    part = TrainAndScale(local=ProjectedSGD(sgd=OWN), factor=2.0)
    assert part.trainer(tiny_sgd(), 0, (0.5,)) == ProjectedSGD(sgd=OWN).at_round(0, (0.5,))


def test_only_attackers_train_so_and_go_further_for_it() -> None:
    federation, model = tiny_federation(), tiny_model()
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    part = TrainAndScale(local=OWN, factor=2.0)
    adversary = Attacker(users=frozenset({2, 5}), knowledge="own", rounds=None, data=(), model=(part,))
    state = algorithm.init(ParameterSpec.of(model).flatten(model))
    plan = plan_simulated(algorithm, state, federation, adversary, 1)
    for job in plan.jobs:
        assert job.trainer == (OWN.at_round(0, ()) if job.user in (2, 5) else tiny_sgd())
    honest = plan_round(algorithm, state, federation.roster, None, 1)
    rows, before = (list(InProcess(model, federation).train(p.jobs)) for p in (plan, honest))
    for attacked, clean in zip(rows, before, strict=True):
        if attacked.user in (2, 5):
            assert attacked.update.norm() > clean.update.norm()
        else:
            assert torch.equal(attacked.update, clean.update)


ROWS = st.lists(st.floats(min_value=-100, max_value=100, width=32), min_size=1, max_size=8)


@given(ROWS, st.floats(min_value=0.01, max_value=100.0), st.floats(min_value=1e-3, max_value=100.0))
def test_the_row_is_scaled_and_no_longer_than_the_norm(row: list[float], factor: float, norm: float) -> None:
    sent = tampered(TrainAndScale(local=OWN, factor=factor, norm=norm), torch.tensor(row)).double().numpy()
    update = np.array(row, dtype=np.float32).astype(np.float64)
    length = float(np.linalg.norm(update))
    assert np.allclose(sent, update * min(factor, norm / length if length else math.inf), rtol=3e-6)
    assert float(np.linalg.norm(sent)) <= norm


def test_without_a_norm_nothing_limits_the_row() -> None:
    assert tampered(TrainAndScale(local=OWN, factor=50.0), torch.tensor([1e6])).tolist() == [5e7]


@pytest.mark.parametrize("local", [None, "sgd", 0.04])
def test_what_is_no_local_trainer_is_refused(local: Any) -> None:
    with pytest.raises(InvalidType, match="must be a local trainer, got"):
        TrainAndScale(local=local, factor=1.0)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_factor_and_norm_must_be_positive_and_finite(value: float) -> None:
    with pytest.raises(InvalidValue, match="scale factor must be positive and finite"):
        TrainAndScale(local=OWN, factor=value)
    with pytest.raises(InvalidValue, match="norm that the attacker keeps to must be positive and finite"):
        TrainAndScale(local=OWN, factor=1.0, norm=value)
