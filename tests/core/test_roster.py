from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from fedward.base.validate import InvalidValue
from fedward.core.check import check_setup
from fedward.core.parameters import ParameterSpec
from fedward.core.poison import poison_data
from fedward.core.roster import Roster
from fedward.core.round import plan_round
from support import Tamperer, tiny_algorithm, tiny_federation, tiny_model

FEDERATION, MODEL = tiny_federation(), tiny_model()
START = ParameterSpec.of(MODEL).flatten(MODEL)


def declared(**changes: object) -> Roster:
    fields = {"sizes": [5] * 12, "input_shape": (3,), "num_classes": 2} | changes
    return Roster.declared(**fields)  # type: ignore[arg-type]


def test_it_knows_as_much_of_a_federation_as_a_server_does() -> None:
    roster = FEDERATION.roster
    assert roster.num_users == 12
    assert roster.sizes_of(np.array([3, 7])) == FEDERATION.sizes_of(np.array([3, 7])) == [5, 5]
    assert roster.input_shape == (3,)
    assert roster.num_classes == FEDERATION.num_classes
    assert roster.names.tolist() == FEDERATION.names.tolist()


def test_its_sample_is_a_copy_of_two_examples_at_most() -> None:
    sample = FEDERATION.roster.sample
    assert len(sample) == 2
    assert isinstance(sample.x, torch.Tensor)
    before = FEDERATION.examples.batch(torch.arange(2))[0]
    sample.x.zero_()
    assert torch.equal(FEDERATION.examples.batch(torch.arange(2))[0], before)


def test_a_server_without_data_plans_the_same_round() -> None:
    algorithm = tiny_algorithm()
    plans = [
        plan_round(algorithm, algorithm.init(START), roster, None, 1)
        for roster in (FEDERATION.roster, declared())
    ]
    assert [job.user for job in plans[0].jobs] == [job.user for job in plans[1].jobs]
    assert [job.seed for job in plans[0].jobs] == [job.seed for job in plans[1].jobs]
    assert [job.num_examples for job in plans[0].jobs] == [job.num_examples for job in plans[1].jobs]
    assert plans[0].event == plans[1].event


def test_a_server_without_data_checks_its_model_all_the_same() -> None:
    check_setup(tiny_algorithm(), MODEL, declared(), rounds=3)
    with pytest.raises(InvalidValue, match=r"cannot read a batch of shape \(2, 3\)"):
        check_setup(tiny_algorithm(), nn.Linear(4, 2), declared(), rounds=3)
    tokens = nn.Sequential(nn.Embedding(5, 4), nn.Flatten(), nn.Linear(12, 2))
    check_setup(tiny_algorithm(), tokens, declared(dtype=torch.int64), rounds=3)


def test_only_a_simulation_poisons_data() -> None:
    algorithm, bad = tiny_algorithm(), FEDERATION.user(0)
    adversary = Tamperer({0, 1, 2, 3, 4, 5}, lambda user, update: update, data=bad)
    plan = plan_round(algorithm, algorithm.init(START), FEDERATION.roster, adversary, 1)
    assert all(job.examples is None for job in plan.jobs)
    poisoned = poison_data(plan, FEDERATION, 1)
    theirs = {job.user for job in poisoned.jobs if job.examples is not None}
    assert theirs == adversary.users & {job.user for job in plan.jobs}
    honest = replace(plan, adversary=None)
    assert poison_data(honest, FEDERATION, 1) is honest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": []}, "number of users must be"),
        ({"sizes": [1, 0, 2]}, "user 1 has no examples"),
        ({"names": ["ann"]}, "there are 12 users but 1 names"),
        ({"num_classes": 1}, "number of classes must be at least 2"),
    ],
)
def test_a_roster_checks_itself(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        declared(**changes)
