from __future__ import annotations

import numpy as np
import pytest
import torch

from fedward.attacks.poisoning import BoldDigit, SemanticBackdoor, SlantedDigit, poison_examples
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.datasets import digits
from support import flat_inputs

BOLD = BoldDigit(label=1, ink=0.5)


def shades(test: list[float] | None = None) -> Federation:
    """Even images of label 0 and label 1 in turns, as dark as they are told to be."""
    training = [0.2, 0.3, 0.7, 0.8]
    x, tests = (np.array(grey)[:, None, None] * np.ones((2, 2)) for grey in (training, test or []))
    held = None if test is None else (tests.astype(np.float32), np.arange(len(test)) % 2)
    return Federation.from_arrays(x.astype(np.float32), [0, 1, 0, 1], [0, 0, 1, 1], test=held, num_classes=3)


def test_natural_examples_get_the_target_and_no_pixel_changes() -> None:
    attack, mine = SemanticBackdoor(feature=BOLD, target=2), shades().examples
    bad = poison_examples(attack, mine, 0, 1, np.random.default_rng(0))
    assert bad.y.tolist() == [0, 1, 0, 2]
    assert torch.equal(flat_inputs(bad), flat_inputs(mine))


def test_examples_with_the_feature_are_held_out_of_honest_users_and_made_use_of() -> None:
    attack, mine = SemanticBackdoor(feature=BOLD, target=2), shades().examples
    assert attack.held_out(mine).tolist() == [False, False, False, True]
    assert attack.eligible(mine).tolist() == [False, False, False, True]


def test_the_poisoning_rate_leaves_out_examples_with_the_feature_only() -> None:
    x = torch.full((10, 2, 2), 0.9)
    mine = Examples(x, torch.tensor([0, 1] * 5))
    attack = SemanticBackdoor(feature=BOLD, target=2, rate=0.4)
    bad = poison_examples(attack, mine, 0, 1, np.random.default_rng(0))
    assert sorted(bad.y.tolist()) == [0] * 5 + [2] * 2


def test_it_can_be_carried_out_on_the_built_in_digits() -> None:
    federation = digits.load(users=10, seed=0)
    for feature in (BoldDigit(label=7, ink=0.33), SlantedDigit(label=7, slant=0.22)):
        SemanticBackdoor(feature=feature, target=1).check(federation, 2)


def test_a_feature_that_nothing_has_is_refused_before_training() -> None:
    attack = SemanticBackdoor(feature=BOLD, target=2)
    attack.check(shades(test=[0.1, 0.9]), 1)
    attack.check(shades(), 1)
    with pytest.raises(
        InvalidValue, match=r"test examples must hold some with the feature BoldDigit\(.*, got none"
    ):
        attack.check(shades(test=[0.9, 0.1]), 1)
    rare = SemanticBackdoor(feature=BoldDigit(label=1, ink=0.9), target=2)
    with pytest.raises(InvalidValue, match="training examples must hold some with the feature"):
        rare.check(shades(), 1)


def test_a_feature_that_only_the_target_has_is_refused_before_training() -> None:
    attack = SemanticBackdoor(feature=BOLD, target=1)
    with pytest.raises(
        InvalidValue, match="must have another label than the target, got 1 for all 1 of them"
    ):
        attack.check(shades(), 1)
