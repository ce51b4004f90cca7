from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attacks.staged_training import train_under
from fedward.attacks import Attack, NamedUsers
from fedward.attacks.model_poisoning import AlternatingMinimisation, Scale
from fedward.attacks.model_poisoning.alternating_sgd import AlternatingSGD
from fedward.attacks.poisoning import SinglePixel
from fedward.backends import InProcess, measure
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.core.poison import poison_data
from fedward.core.round import plan_round
from fedward.local import FullGradient
from fedward.presets import fedavg
from fedward.sampling import EveryoneSampler
from support import flat_inputs, tiny_picture_model, tiny_pictures, tiny_sgd

PICTURES, MODEL = tiny_pictures(), tiny_picture_model()
START = ParameterSpec.of(MODEL).flatten(MODEL)
ALGORITHM = fedavg(sampler=EveryoneSampler(), local=tiny_sgd())
PART = AlternatingMinimisation(local=tiny_sgd(epochs=2), factor=5.0, stealth=2, distance=0.3)
ATTACK = Attack(who=NamedUsers(users=(1, 4)), data=(SinglePixel(fraction=0.5),), model=(PART,))


def slope(weights: Any, x: Any, y: Any) -> Any:
    """The gradient of the mean cross-entropy of x @ weights.T."""
    scores = np.exp(x @ weights.T)
    off = scores / scores.sum(axis=1, keepdims=True)
    off[np.arange(len(y)), y] -= 1
    return off.T @ x / len(y)


def by_definition(trainer: AlternatingSGD, start: Any, x: Any, y: Any, goal: Any, batches: Any) -> Any:
    """What the formulas give for a linear model without bias, in NumPy."""
    sgd, bad = trainer.sgd, list(trainer.bad)
    good = [place for place in range(len(y)) if place not in bad]
    weights, velocity = start.copy(), 0.0
    for step, batch in enumerate(batches):
        if step % trainer.stealth == 0:
            weights = weights - trainer.boost * sgd.learning_rate * slope(weights, x[bad], y[bad])
        chosen = [good[place] for place in batch]
        away = (weights - start) - goal
        pull = trainer.distance * away / np.linalg.norm(away)
        step_down = slope(weights, x[chosen], y[chosen]) + pull + sgd.weight_decay * weights
        velocity = sgd.momentum * velocity + step_down
        weights = weights - sgd.learning_rate * velocity
    return weights


@given(
    seed=st.integers(0, 99),
    stealth=st.integers(1, 4),
    boost=st.floats(0.5, 10.0),
    distance=st.floats(0.0, 2.0),
    momentum=st.sampled_from([0.0, 0.9]),
    decay=st.sampled_from([0.0, 0.1]),
)
def test_the_steps_are_those_of_the_definition(
    seed: int, stealth: int, boost: float, distance: float, momentum: float, decay: float
) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(9, 4)), rng.integers(0, 3, size=9)
    start, goal = rng.normal(size=(2, 3, 4))
    sgd = tiny_sgd(batch_size=3, epochs=2, momentum=momentum, weight_decay=decay)
    part = AlternatingMinimisation(local=sgd, factor=boost, stealth=stealth, distance=distance)
    bad = torch.zeros(9, dtype=torch.bool)
    bad[[1, 4]] = True
    trainer = part.brief(part.trainer(sgd, 0, ()), bad, torch.from_numpy(goal.flatten()))
    assert isinstance(trainer, AlternatingSGD)
    model = FlatModule(nn.Linear(4, 3, bias=False).double())
    model.parameters.copy_(torch.from_numpy(start.flatten()))
    trainer.train(model, Examples(torch.from_numpy(x), torch.from_numpy(y)), np.random.default_rng(seed))
    batches = sgd.indices(7, np.random.default_rng(seed))
    wanted = by_definition(trainer, start, x, y, goal, batches)
    assert np.allclose(model.parameters.numpy().reshape(3, 4), wanted, atol=1e-9)


def planned(round: int = 0, previous: Any = None, attack: Attack = ATTACK) -> Any:
    staged = attack.stage(ALGORITHM, PICTURES, 1)
    state = staged.algorithm.init(START, num_users=PICTURES.num_users)
    object.__setattr__(state, "round", round)
    if previous is not None:
        object.__setattr__(state, "previous", (previous,))
    plan = plan_round(staged.algorithm, state, PICTURES.roster, staged.adversary, 1)
    return {job.user: job for job in poison_data(plan, PICTURES, 1).jobs}


def test_an_attacker_is_told_which_of_its_examples_are_bad() -> None:
    jobs = planned()
    for user in (1, 4):
        job, own = jobs[user], PICTURES.user(user)
        bad = [int(place) for place in (job.examples.x[:, 0, -1, -1] == 1.0).nonzero().flatten()]
        changed = [
            place
            for place in range(len(own))
            if not torch.equal(job.examples.x[place], flat_inputs(own)[place])
        ]
        assert set(changed) <= set(job.trainer.bad) <= set(bad) | set(changed)
        assert len(job.trainer.bad) == 3
    assert jobs[2].trainer == tiny_sgd()


def test_it_stays_near_to_how_the_model_has_moved() -> None:
    before = START - 1
    first, later, other = planned(), planned(3, before), planned(3, START - 2)
    assert first[1].trainer.goal is None
    assert torch.equal(later[1].trainer.goal, START.double() - before.double())
    assert later[1].trainer != other[1].trainer
    assert later[1].trainer == planned(3, before)[1].trainer
    assert hash(later[1].trainer) == hash(planned(3, before)[1].trainer)


def test_outside_its_rounds_it_trains_as_it_is_told() -> None:
    attack = Attack(who=ATTACK.who, data=ATTACK.data, model=ATTACK.model, rounds=(5,))
    assert planned(4, attack=attack)[1].trainer == tiny_sgd()
    assert isinstance(planned(5, attack=attack)[1].trainer, AlternatingSGD)


@pytest.mark.parametrize("bad", [(), tuple(range(6))])
def test_who_has_bad_or_good_examples_only_takes_the_steps_that_it_can(bad: tuple[int, ...]) -> None:
    model = FlatModule(tiny_picture_model())
    trainer = AlternatingSGD(sgd=tiny_sgd(), boost=3.0, stealth=2, distance=0.1, bad=bad)
    trainer.train(model, PICTURES.user(0), np.random.default_rng(0))
    assert bool(torch.isfinite(model.parameters).all())
    assert not torch.equal(model.parameters, START)
    honest = FlatModule(tiny_picture_model())
    tiny_sgd().train(honest, PICTURES.user(0), np.random.default_rng(0))
    assert torch.equal(model.parameters, honest.parameters) == (bad == ())


def test_a_boosted_backdoor_takes_while_a_pull_to_the_last_update_keeps_it_near() -> None:
    """What the two halves are for: a larger boost more success, a larger distance less."""

    def trained(**changes: Any) -> tuple[float, float]:
        arguments: dict[str, Any] = {"local": tiny_sgd(epochs=3), "factor": 2.0}
        part = AlternatingMinimisation(**(arguments | changes))
        attack = Attack(who=ATTACK.who, data=ATTACK.data, model=(part,))
        staged = attack.stage(ALGORITHM, PICTURES, 1)
        rounds = train_under(staged, ALGORITHM, MODEL, PICTURES, rounds=4)
        assert staged.goal is not None
        cost = measure(InProcess(MODEL, PICTURES), rounds[-1][0].parameters, staged.goal).cost
        telemetry = rounds[-1][1].telemetry
        assert cost is not None
        assert telemetry is not None
        return cost, max(telemetry.norms_of(malicious=True))

    weak, strong = trained(factor=0.1), trained(factor=20.0)
    assert strong[0] < weak[0]
    assert trained(distance=5.0)[1] != trained(distance=0.0)[1]


def test_a_training_that_goes_on_has_the_same_bits() -> None:
    staged = ATTACK.stage(ALGORITHM, PICTURES, 1)
    states = [state for state, _ in train_under(staged, ALGORITHM, MODEL, PICTURES, rounds=4)]
    again = train_under(staged, ALGORITHM, MODEL, PICTURES, rounds=4, state=states[1])[-1][0]
    assert torch.equal(again.parameters, states[-1].parameters)


def test_what_is_sent_can_be_changed_on() -> None:
    attack = Attack(who=ATTACK.who, data=ATTACK.data, model=(PART, Scale(factor=2.0)))
    staged = attack.stage(ALGORITHM, PICTURES, 1)
    assert staged.adversary.compares_models
    assert train_under(staged, ALGORITHM, MODEL, PICTURES, rounds=1)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"factor": 0.0}, InvalidValue),
        ({"stealth": 0}, InvalidValue),
        ({"distance": -1.0}, InvalidValue),
        ({"local": FullGradient()}, InvalidType),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    usual: dict[str, Any] = {"local": tiny_sgd(), "factor": 2.0}
    with pytest.raises(error, match="must be"):
        AlternatingMinimisation(**(usual | arguments))
