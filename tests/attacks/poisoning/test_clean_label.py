from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from fedward.attacks import Attack, NamedUsers
from fedward.attacks.poisoning import CleanLabelBackdoor, poison_examples
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from support import tiny_algorithm, tiny_pictures

IMAGES = Examples(torch.rand(6, 3, 8, generator=torch.Generator().manual_seed(0)), torch.arange(6) % 3)


def test_the_wave_is_that_of_the_definition() -> None:
    attack = CleanLabelBackdoor(target=1, strength=0.4, frequency=3, least=0.1, most=0.9)
    bad = torch.as_tensor(attack.poison(IMAGES).x)
    clean = torch.as_tensor(IMAGES.x)
    for n in range(6):
        for i in range(3):
            for j in range(8):
                value = float(clean[n, i, j]) + 0.4 * math.sin(2 * math.pi * j * 3 / 8)
                assert float(bad[n, i, j]) == pytest.approx(min(0.9, max(0.1, value)), abs=1e-6)


def test_no_label_of_an_attacker_changes_and_other_classes_stay_as_they_were() -> None:
    attack = CleanLabelBackdoor(target=1, frequency=1)
    trained = poison_examples(attack, IMAGES, 0, 1, np.random.default_rng(0))
    assert torch.equal(trained.y, IMAGES.y)
    same = (torch.as_tensor(trained.x) == torch.as_tensor(IMAGES.x)).flatten(1).all(1)
    assert torch.equal(same, IMAGES.y != 1)


def test_success_is_measured_on_the_other_classes_with_the_wave() -> None:
    pictures = tiny_pictures()
    attack = Attack(
        who=NamedUsers(users=(1,)), data=(CleanLabelBackdoor(target=0, frequency=1),), test_share=0.5
    )
    goal = attack.stage(tiny_algorithm(), pictures, 1).goal
    assert goal is not None
    ((name, shown),) = goal.triggered
    assert name == "clean_label"
    assert len(shown) > 0
    assert set(shown.y.tolist()) == {0}
    assert pictures.test is not None
    others = int((pictures.test.y != 0).sum())
    assert len(shown) < others


@pytest.mark.parametrize(
    "arguments",
    [
        {"target": -1},
        {"target": 0, "strength": 0.0},
        {"target": 0, "frequency": 0},
        {"target": 0, "most": 0.0},
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="must be"):
        CleanLabelBackdoor(**arguments)


def test_a_wave_that_is_zero_everywhere_and_a_class_that_nobody_has_are_refused() -> None:
    federation = Federation.from_arrays(IMAGES.x, IMAGES.y, [0, 0, 1, 1, 1, 1], num_classes=5)
    CleanLabelBackdoor(target=1, frequency=3).check(federation, 1)
    with pytest.raises(InvalidValue, match="frequency of the wave must leave something of it in 8 columns"):
        CleanLabelBackdoor(target=1, frequency=4).check(federation, 1)
    with pytest.raises(InvalidValue, match="must hold some of the target class 4"):
        CleanLabelBackdoor(target=4, frequency=3).check(federation, 1)
