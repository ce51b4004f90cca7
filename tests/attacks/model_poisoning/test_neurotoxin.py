from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attacks.staged_training import train_under
from fedward.attacks import Attack, NamedUsers
from fedward.attacks.model_poisoning import Neurotoxin, SignFlip
from fedward.base.validate import InvalidValue
from fedward.core.types import Sight
from fedward.presets import fedavg
from fedward.sampling import EveryoneSampler
from support import tiny_federation, tiny_model, tiny_sgd


def sent(part: Neurotoxin, update: Tensor, parameters: Tensor, previous: Tensor | None) -> Tensor:
    sight = Sight(round=1, parameters=parameters, bounds=(), own={}, previous=previous)
    return part.tamper(update.clone(), sight, np.random.default_rng(0))


@given(st.integers(1, 30), st.floats(0, 0.99), st.integers(0, 99))
def test_the_coordinates_that_moved_most_are_left_alone(size: int, share: float, seed: int) -> None:
    update, now, before = torch.randn(3, size, generator=torch.Generator().manual_seed(seed)).unbind()
    row = sent(Neurotoxin(share=share, factor=2.0), update, now, before)
    moved = np.abs(now.double().numpy() - before.double().numpy())
    most = np.argsort(-moved, kind="stable")[: int(np.ceil(share * size))]
    wanted = 2 * update.numpy()
    wanted[most] = 0
    assert np.allclose(row, wanted)


def test_without_a_move_nothing_is_left_out() -> None:
    update, model = torch.tensor([1.0, -2.0]), torch.ones(2)
    assert torch.equal(sent(Neurotoxin(share=0.5), update, model, None), update)
    assert torch.equal(sent(Neurotoxin(share=0.5), update, model, model), update)


def test_the_model_of_the_round_before_is_kept_for_those_who_look_at_it() -> None:
    federation, model = tiny_federation(), tiny_model()
    algorithm = fedavg(sampler=EveryoneSampler(), local=tiny_sgd())
    attack = Attack(who=NamedUsers(users=(1, 4)), model=(Neurotoxin(share=0.5),))
    staged = attack.stage(algorithm, federation, 1)
    states = [state for state, _ in train_under(staged, algorithm, model, federation, rounds=4)]
    assert torch.equal(states[1].previous[0], states[0].parameters)
    again = train_under(staged, algorithm, model, federation, rounds=4, state=states[1])[-1][0]
    assert torch.equal(again.parameters, states[-1].parameters)
    other = Attack(who=NamedUsers(users=(1, 4)), model=(SignFlip(),)).stage(algorithm, federation, 1)
    assert train_under(other, algorithm, model, federation, rounds=1)[-1][0].previous == ()


@pytest.mark.parametrize("arguments", [{"share": 1.0}, {"share": -0.1}, {"factor": 0.0}])
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="must be"):
        Neurotoxin(**arguments)
