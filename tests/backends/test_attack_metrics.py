from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedward.attacks import Attack, Goal, NamedUsers
from fedward.attacks.model_poisoning import SignFlip
from fedward.attacks.poisoning import BoldDigit, LabelFlip, SemanticBackdoor, SinglePixel
from fedward.backends import InProcess, measure
from fedward.backends.attack_metrics import parameter_cost
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.parameters import ParameterSpec
from support import tiny_algorithm, tiny_picture_model, tiny_pictures

PICTURES, MODEL = tiny_pictures(), tiny_picture_model()
PARAMETERS = ParameterSpec.of(MODEL).flatten(MODEL)
BACKEND = InProcess(MODEL, PICTURES)
SEMANTIC = SemanticBackdoor(feature=BoldDigit(label=1, ink=0.3), target=0)
WHO = NamedUsers(users=(1, 4))


def goal_of(*data: object) -> Goal:
    goal = Attack(who=WHO, data=data).stage(tiny_algorithm(), PICTURES, 1).goal  # type: ignore[arg-type]
    assert goal is not None
    return goal


@torch.no_grad()
def by_hand(examples: Examples) -> tuple[int, float]:
    """How many go to their label, and the sum of -log p of it, one example at a time."""
    hits, cost = 0, 0.0
    for x, y in zip(torch.as_tensor(examples.x), examples.y.tolist(), strict=True):
        scores = MODEL(x[None])[0].double()
        hits += int(scores.argmax()) == y
        cost -= float(scores[y] - scores.exp().sum().log())
    return hits, cost


@pytest.mark.parametrize("attack", [SinglePixel(), LabelFlip(target=2, source=1), SEMANTIC], ids=repr)
def test_success_and_cost_of_one_attack_are_those_of_a_count_by_hand(attack: object) -> None:
    goal = goal_of(attack)
    found = measure(BACKEND, PARAMETERS, goal)
    ((_, triggered),) = goal.triggered
    hits, cost = by_hand(triggered)
    assert found.success == pytest.approx(hits / len(triggered))
    assert found.cost == pytest.approx(cost / len(triggered), rel=1e-5)
    right, loss = by_hand(goal.clean)
    assert found.main.accuracy == right / len(goal.clean)
    assert found.main.loss == pytest.approx(loss / len(goal.clean), rel=1e-5)
    assert found.main.examples == len(goal.clean)
    record = found.to_record()
    assert record.keys() == {"accuracy", "loss", "attack_success", "attack_cost", "attacks"}
    assert [attack["examples"] for attack in record["attacks"].values()] == [len(triggered)]
    assert (record["attack_success"], record["attack_cost"]) == (found.success, found.cost)


def test_several_attacks_are_pooled_over_all_their_examples_and_told_apart() -> None:
    goal = goal_of(SEMANTIC, SinglePixel(fraction=0.5), LabelFlip(target=2, fraction=0.5))
    found = measure(BACKEND, PARAMETERS, goal)
    counts = {name: (*by_hand(examples), len(examples)) for name, examples in goal.triggered}
    assert len({n for _, _, n in counts.values()}) > 1  # otherwise a mean of means would do as well
    total = sum(n for _, _, n in counts.values())
    assert found.success == pytest.approx(sum(hits for hits, _, _ in counts.values()) / total)
    assert found.cost == pytest.approx(sum(cost for _, cost, _ in counts.values()) / total, rel=1e-5)
    record = found.to_record()
    assert record["attacks"].keys() == {"single_pixel", "semantic", "label_flip"}
    for name, (hits, cost, n) in counts.items():
        assert record["attacks"][name] == {
            "success": pytest.approx(hits / n),
            "cost": pytest.approx(cost / n, rel=1e-5),
            "examples": n,
        }


def test_success_does_not_count_examples_that_are_of_the_target_anyway() -> None:
    """A model that answers 0 to everything has a success of one, one that never does of none."""
    spec, goal = ParameterSpec.of(MODEL), goal_of(SinglePixel(target=0))
    for answer, success in ((0, 1.0), (1, 0.0)):
        constant = torch.zeros(spec.size)
        constant[-3 + answer] = 10.0  # the biases of the three classes come last
        assert measure(BACKEND, constant, goal).success == success


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_the_cost_is_capped_at_the_bound(factor: float) -> None:
    goal = goal_of(SinglePixel())
    plain = measure(BACKEND, PARAMETERS, goal)
    assert plain.cost is not None
    assert plain.capped_cost is None
    bound = factor * plain.cost
    capped = measure(BACKEND, PARAMETERS, goal, cost_bound=bound)
    assert capped.cost == plain.cost
    assert capped.capped_cost == min(plain.cost, bound)
    assert capped.to_record()["capped_attack_cost"] == capped.capped_cost


def test_a_broken_model_is_no_success_and_its_cost_is_capped_too() -> None:
    """The largest of three NaN is class 0, which is the target."""
    for value in (math.nan, 3e38):
        broken = torch.full_like(PARAMETERS, value)
        found = measure(BACKEND, broken, goal_of(SinglePixel(target=0)), cost_bound=5.0)
        assert found.cost is not None
        assert math.isnan(found.cost)
        assert found.success == 0.0
        assert found.capped_cost == 5.0


def test_an_infinite_cost_is_capped() -> None:
    spec = ParameterSpec.of(MODEL)
    sure = torch.zeros(spec.size)
    sure[-2] = 3e38  # so sure of class 1 that the cost of class 0 is beyond float32
    found = measure(BACKEND, sure, goal_of(SinglePixel(target=0), LabelFlip(target=2)), cost_bound=5.0)
    assert found.cost is not None
    assert found.cost > 1e30
    assert found.capped_cost == 5.0


@pytest.mark.parametrize("bound", [0.0, -1.0, math.inf, math.nan])
def test_a_bound_that_bounds_nothing_is_refused(bound: float) -> None:
    with pytest.raises(InvalidValue, match="bound of the attack cost must be positive and finite, got"):
        measure(BACKEND, PARAMETERS, goal_of(SinglePixel()), cost_bound=bound)


def test_the_cost_of_a_target_model_is_half_the_squared_distance() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=50).astype(np.float32) for _ in range(2))
    wanted = 0.5 * sum((float(x) - float(y)) ** 2 for x, y in zip(a, b, strict=True))
    assert parameter_cost(torch.from_numpy(a), torch.from_numpy(b)) == pytest.approx(wanted, rel=1e-12)
    assert parameter_cost(PARAMETERS, PARAMETERS) == 0.0
    with pytest.raises(InvalidValue, match=r"target model must have 50 parameters .*, got 49"):
        parameter_cost(torch.from_numpy(a), torch.from_numpy(b[1:]))


def test_a_target_model_has_a_cost_with_and_without_poisoned_data() -> None:
    target = torch.zeros_like(PARAMETERS)
    distance = 0.5 * float(PARAMETERS.double().pow(2).sum())
    plain = goal_of(SinglePixel())
    both = measure(BACKEND, PARAMETERS, plain, cost_bound=1e-3, target=target)
    assert both.parameter_cost == pytest.approx(distance)
    assert both.cost == measure(BACKEND, PARAMETERS, plain).cost
    assert both.capped_cost == 1e-3
    only = Attack(who=WHO, model=(SignFlip(),)).stage(tiny_algorithm(), PICTURES, 1).goal
    assert only is not None
    alone = measure(BACKEND, PARAMETERS, only, cost_bound=distance / 2, target=target)
    assert alone.success is None
    assert alone.cost is None
    assert alone.capped_cost == distance / 2
    assert alone.to_record().keys() == {"accuracy", "loss", "capped_attack_cost", "parameter_cost"}


def test_an_attack_on_updates_alone_is_measured_on_the_main_task_alone() -> None:
    goal = Attack(who=WHO, model=(SignFlip(),)).stage(tiny_algorithm(), PICTURES, 1).goal
    assert goal is not None
    found = measure(BACKEND, PARAMETERS, goal, cost_bound=5.0)
    assert found.to_record() == {"accuracy": found.main.accuracy, "loss": found.main.loss}
    assert found.main.examples == 90


def test_the_loss_is_the_cross_entropy_of_the_target_label() -> None:
    goal = goal_of(SinglePixel(target=2))
    ((_, triggered),) = goal.triggered
    x = torch.as_tensor(triggered.x)
    with torch.no_grad():
        wanted: Tensor = cross_entropy(MODEL(x), torch.full((len(x),), 2))
    assert measure(BACKEND, PARAMETERS, goal).cost == pytest.approx(float(wanted), rel=1e-5)
