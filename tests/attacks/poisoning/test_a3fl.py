from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from attacks.staged_training import train_under
from fedward.attacks import Attack, NamedUsers, RandomUsers
from fedward.attacks.poisoning import A3FL, Pixels, SinglePixel
from fedward.backends import InProcess, measure
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.parameters import ParameterSpec
from fedward.presets import fedavg
from fedward.sampling import EveryoneSampler
from support import flat_inputs, tiny_picture_model, tiny_pictures, tiny_sgd

PICTURES, MODEL = tiny_pictures(), tiny_picture_model()
START = ParameterSpec.of(MODEL).flatten(MODEL)
CORNER = Pixels(places=((0, 0), (-1, -1)))
A = A3FL(pattern=CORNER, target=2, steps=5, renewed=2, unlearning=3, length=0.05, fraction=0.5)
ALGORITHM = fedavg(sampler=EveryoneSampler(), local=tiny_sgd())
WHO = NamedUsers(users=(1, 4, 9))


def softmax(scores: Any) -> Any:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def slopes(weights: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The gradients of the mean cross-entropy of x @ weights.T: by the weights, and by the inputs."""
    off = softmax(x @ weights.T)
    off[np.arange(len(y)), y] -= 1
    return off.T @ x / len(y), off @ weights / len(y)


def by_definition(a3fl: A3FL, weights: Any, x: Any, y: Any, places: list[int]) -> Any:
    """The values that A3FL's formulas give for a linear model without bias, in NumPy."""

    def planted() -> Any:
        bad = x.copy()
        bad[:, places] = values
        return bad

    values = np.full(len(places), (a3fl.least + a3fl.most) / 2)
    wanted = np.full(len(y), a3fl.target)
    twin = weights
    for step in range(a3fl.steps):
        if step % a3fl.renewed == 0:
            twin = weights.copy()
            for _ in range(a3fl.unlearning):
                twin = twin - a3fl.unlearning_rate * slopes(twin, planted(), y)[0]
        cosine = (twin * weights).sum() / np.linalg.norm(twin) / np.linalg.norm(weights)
        slope = slopes(weights, planted(), wanted)[1]
        slope = slope + a3fl.balance * cosine * slopes(twin, planted(), wanted)[1]
        moved = values - a3fl.length * np.sign(slope.sum(axis=0)[places])
        values = np.clip(moved, a3fl.least, a3fl.most)
    return values


@given(
    seed=st.integers(0, 99),
    balance=st.sampled_from([0.0, 0.01, 5.0, 100.0]),
    steps=st.integers(1, 7),
    renewed=st.integers(1, 3),
    unlearning=st.integers(1, 4),
)
def test_the_trigger_is_that_of_the_definition(
    seed: int, balance: float, steps: int, renewed: int, unlearning: int
) -> None:
    a3fl = A3FL(
        pattern=Pixels(places=((0, 1), (1, 0), (1, 1))),
        target=1,
        balance=balance,
        steps=steps,
        renewed=renewed,
        unlearning=unlearning,
        unlearning_rate=2.0,
        length=0.2,
    )
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(9, 4)), rng.integers(0, 3, size=9)
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3, bias=False)).double()
    weights = rng.normal(size=(3, 4))
    own = Examples(torch.from_numpy(x.reshape(9, 2, 2)), torch.from_numpy(y))
    found = a3fl.fitted_by(model, own).at_model(torch.from_numpy(weights.flatten())).value
    assert np.allclose(found, [by_definition(a3fl, weights, x, y, [1, 2, 3])], atol=1e-9)


def test_an_unlearned_twin_changes_the_trigger_that_is_found() -> None:
    x = torch.tensor([[[0.0, 1.0]]] * 4)
    own = Examples(x, torch.zeros(4, dtype=torch.int64))
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False))
    # To the model a bright first pixel speaks for class 1, to the twin soon for class 0.
    parameters = torch.tensor([0.0, 9.0, 0.1, 9.0])
    part = A3FL(pattern=Pixels(places=((0, 0),)), target=1, steps=3, length=0.1, unlearning_rate=1.0)
    alone, both = (
        replace(part, balance=balance).fitted_by(model, own).at_model(parameters).value
        for balance in (0.0, 100.0)
    )
    assert np.allclose(alone, 0.8)
    assert both != alone


def stage(part: A3FL = A, **changes: Any) -> Any:
    arguments: dict[str, Any] = {"who": WHO, "data": (part,)} | changes
    return Attack(**arguments).stage(ALGORITHM, PICTURES, 1, MODEL)


def test_attackers_train_with_the_trigger_for_the_model_that_they_are_sent() -> None:
    """All with the same, searched on what they own together, and another one for another model."""
    staged = stage()
    own = torch.cat([PICTURES.user(user).y for user in (1, 4, 9)])
    (part,) = staged.adversary.data
    assert torch.equal(part.own.y, own)
    here, there = staged.adversary.at_model(0, START), staged.adversary.at_model(0, 1 - START)
    assert here.data[0].value == part.at_model(START).value != there.data[0].value
    for user in (1, 4):
        version, bad = here.poison(user, PICTURES.user(user), 0, np.random.default_rng(0))
        planted = torch.as_tensor(part.at_model(START).value)
        assert int((bad.x[:, 0, [0, -1], [0, -1]] == planted).all(dim=1).sum()) >= 3
        assert version != there.poison(user, PICTURES.user(user), 0, np.random.default_rng(0))[0]


def test_success_is_measured_with_the_trigger_for_the_measured_model() -> None:
    staged = stage(replace(A, steps=30, length=0.1))
    backend = InProcess(MODEL, staged.federation)
    ((name, shown),) = staged.goal.triggered
    ((_, planted),) = staged.goal.at_model(START).triggered
    assert name == "a3fl"
    assert torch.equal(shown.y, planted.y)
    assert bool((shown.x[:, 0, 0, 0] == 0.5).all())
    fitted, grey = (
        measure(backend, START, goal) for goal in (staged.goal, replace(staged.goal, following=()))
    )
    assert fitted.cost is not None
    assert grey.cost is not None
    assert fitted.cost < grey.cost
    assert fitted.main == grey.main
    assert fitted == measure(backend, START, staged.goal)


def test_who_poisons_nothing_shows_what_the_trigger_does_by_itself() -> None:
    clean = [state for state, _ in train_under(None, ALGORITHM, MODEL, PICTURES, rounds=2)]
    idle = stage(replace(A, fraction=0.0))
    same = [state for state, _ in train_under(idle, ALGORITHM, MODEL, PICTURES, rounds=2)]
    assert torch.equal(clean[-1].parameters, same[-1].parameters)
    assert idle.goal is not None
    assert measure(InProcess(MODEL, idle.federation), clean[-1].parameters, idle.goal).success is not None


def test_a_training_that_goes_on_has_the_same_bits() -> None:
    staged = stage(rounds=(0, 2))
    states = [state for state, _ in train_under(staged, ALGORITHM, MODEL, PICTURES, rounds=4)]
    for begun in (0, 1, 2):
        again = train_under(staged, ALGORITHM, MODEL, PICTURES, rounds=4, state=states[begun])[-1][0]
        assert torch.equal(again.parameters, states[-1].parameters)


def test_outside_its_rounds_nothing_is_fitted() -> None:
    attacker = stage(rounds=(3,)).adversary
    assert attacker.at_model(2, START) is attacker
    assert attacker.at_model(3, START) is not attacker


def test_it_goes_with_other_poisonings_and_leaves_theirs_alone() -> None:
    staged = stage(data=(SinglePixel(fraction=0.3), A))
    single, a3fl = staged.goal.at_model(START).triggered
    assert [single[0], a3fl[0]] == ["single_pixel", "a3fl"]
    assert torch.equal(single[1].x, staged.goal.triggered[0][1].x)
    assert not torch.equal(a3fl[1].x, staged.goal.triggered[1][1].x)


def test_without_a_model_it_says_what_it_needs() -> None:
    with pytest.raises(InvalidValue, match=r"is fitted to the model: give Attack.stage the model as well"):
        Attack(who=WHO, data=(A,)).stage(ALGORITHM, PICTURES, 1)


def test_where_nobody_attacks_the_trigger_stays_grey() -> None:
    staged = Attack(who=RandomUsers(count=0), data=(A,)).stage(ALGORITHM, PICTURES, 1, MODEL)
    assert staged.goal is not None
    ((_, shown),) = staged.goal.at_model(START).triggered
    assert bool((flat_inputs(shown)[:, 0, 0, 0] == 0.5).all())


def test_it_searches_on_no_more_examples_than_it_may() -> None:
    own = Examples(torch.zeros(10, 2, 2), torch.arange(10))
    kept = replace(A, examples=4).fitted_by(MODEL, own).own.y
    assert kept.tolist() == [0, 2, 5, 7]


def test_no_module_is_changed_by_a_search() -> None:
    before = [each.clone() for each in MODEL.parameters()]
    stage().goal.at_model(1 - START)
    assert all(map(torch.equal, before, MODEL.parameters()))
    assert all(each.grad is None for each in MODEL.parameters())


@pytest.mark.parametrize(
    "arguments",
    [
        {"target": -1},
        {"balance": -0.1},
        {"length": 0.0},
        {"steps": 0},
        {"renewed": 0},
        {"unlearning": 0},
        {"unlearning_rate": 0.0},
        {"examples": 0},
        {"least": 1.0},
        {"fraction": 1.1},
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="must be"):
        replace(A, **arguments)


def test_a_trigger_outside_of_the_image_is_refused() -> None:
    with pytest.raises(InvalidValue, match="trigger must lie inside the image"):
        stage(replace(A, pattern=Pixels(places=((4, 0),))))


def test_images_of_several_channels_get_a_value_for_each() -> None:
    x = torch.rand(6, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    model = nn.Sequential(nn.Conv2d(3, 2, 3), nn.Dropout(0.5), nn.Flatten(), nn.Linear(8, 3))
    part = A.fitted_by(model, Examples(x, torch.arange(6) % 3))
    parameters: Tensor = torch.randn(ParameterSpec.of(model).size, generator=torch.Generator().manual_seed(0))
    value: Any = part.at_model(parameters).value
    assert np.shape(value) == (3, 2)
    assert part.at_model(parameters).value == value
