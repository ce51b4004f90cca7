from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.attacks.attack_types import Poisoning
from fedward.attacks.poisoning import (
    A3FL,
    POISONINGS,
    BlendedBackdoor,
    BoldDigit,
    CleanLabelBackdoor,
    DistributedBackdoor,
    EdgeCaseBackdoor,
    LabelFlip,
    PatternBackdoor,
    SemanticBackdoor,
    SinglePixel,
    Square,
    Triangle,
    WordBackdoor,
    poison_examples,
)
from fedward.attacks.poisoning.portion import check_portion
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from support import flat_inputs

EVERY_POISONING: dict[str, Poisoning] = {
    "single_pixel": SinglePixel(),
    "pattern": PatternBackdoor(pattern=Triangle(size=2), target=1),
    "distributed": DistributedBackdoor(pattern=Triangle(size=3), target=1),
    "blended": BlendedBackdoor(target=1),
    "clean_label": CleanLabelBackdoor(target=1, frequency=1),
    "a3fl": A3FL(pattern=Square(size=2), target=1, fraction=1.0),
    "label_flip": LabelFlip(target=0, source=1),
    "semantic": SemanticBackdoor(feature=BoldDigit(label=1, ink=0.5), target=0),
}


def changed(name: str, **changes: Any) -> Poisoning:
    poisoning = EVERY_POISONING[name]
    assert dataclasses.is_dataclass(poisoning)
    return dataclasses.replace(poisoning, **changes)


def test_every_poisoning_is_tested_here() -> None:
    # Sentences need text: test_sentences and test_word are about them. A tail is that of some data:
    # test_edge_case is about it.
    tested = {name: type(poisoning) for name, poisoning in EVERY_POISONING.items()}
    assert tested | {"word": WordBackdoor, "edge_case": EdgeCaseBackdoor} == POISONINGS


def images(n: int = 40, classes: int = 4, seed: int = 0) -> Examples:
    rng = np.random.default_rng(seed)
    return Examples.from_arrays(rng.random((n, 1, 5, 4), dtype=np.float32), np.arange(n) % classes)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(
    n=st.integers(1, 60),
    percent=st.integers(0, 100),
    rate_percent=st.integers(1, 100),
    seed=st.integers(0, 5),
)
def test_counts_are_exact_and_everything_else_stands_where_it_stood(
    n: int, percent: int, rate_percent: int, seed: int
) -> None:
    # Every example bears its own number, so that each can be followed.
    examples = Examples.from_arrays(np.arange(n, dtype=np.float32)[:, None], np.arange(n) % 3)
    flip = LabelFlip(target=0, fraction=percent / 100, rate=rate_percent / 100)
    eligible = (examples.y != 0).sum().item()
    # Whole numbers only: nothing to round but what the formula rounds.
    chosen = (2 * percent * eligible + 100) // 200
    bad = -(-rate_percent * chosen // 100)

    found = poison_examples(flip, examples, 0, 1, rng(seed))

    numbers = flat_inputs(found).flatten().long()
    assert numbers.tolist() == sorted(set(numbers.tolist()))
    assert len(found) == n - chosen + bad
    changed = found.y != examples.y[numbers]
    assert changed.sum() == bad
    assert bool((found.y[changed] == 0).all())
    missing = set(range(n)) - set(numbers.tolist())
    assert all(int(examples.y[i]) != 0 for i in missing)


def test_shares_are_of_the_decimals_that_were_written() -> None:
    # In floats 0.07 * 100 = 7.000000000000001 and 0.145 * 100 = 14.499999999999998.
    assert math.ceil(0.07 * 100) == 8
    assert math.floor(0.145 * 100 + 0.5) == 14
    examples = images(100)
    assert len(poison_examples(SinglePixel(rate=0.07), examples, 0, 1, rng())) == 7
    changed = poison_examples(SinglePixel(target=5, fraction=0.145), examples, 0, 1, rng()).y == 5
    assert changed.sum() == 15


@pytest.mark.parametrize("name", EVERY_POISONING)
def test_poisoned_examples_come_from_the_poisoning_and_others_are_untouched(name: str) -> None:
    poisoning, examples = EVERY_POISONING[name], images()
    found = poison_examples(poisoning, examples, 1, 3, rng())
    whole = poisoning.poison(examples, 1, 3)
    eligible = poisoning.eligible(examples)
    assert eligible.sum() > 0
    assert torch.equal(
        flat_inputs(found),
        torch.where(eligible[:, None, None, None], flat_inputs(whole), flat_inputs(examples)),
    )
    assert torch.equal(found.y, torch.where(eligible, whole.y, examples.y))


@pytest.mark.parametrize("name", EVERY_POISONING)
def test_nothing_that_comes_in_is_ever_written_to(name: str) -> None:
    poisoning, examples = EVERY_POISONING[name], images()
    x, y = flat_inputs(examples).clone(), examples.y.clone()
    users = Federation.from_arrays(x, y, np.arange(len(y)) // 10)
    before = flat_inputs(users.examples).clone(), users.examples.y.clone()
    poisoning.check(users, 3)
    for user in range(users.num_users):
        poison_examples(poisoning, users.user(user), user % 3, 3, rng())
        poisoning.poison(users.user(user), user % 3, 3)
        poisoning.eligible(users.user(user))
        poisoning.held_out(users.user(user))
    assert torch.equal(flat_inputs(users.examples), before[0])
    assert torch.equal(users.examples.y, before[1])


@pytest.mark.parametrize("name", EVERY_POISONING)
def test_no_examples_can_be_poisoned_too(name: str) -> None:
    nothing = images().span(0, 0)
    assert len(EVERY_POISONING[name].poison(nothing)) == 0
    assert len(poison_examples(EVERY_POISONING[name], nothing, 0, 1, rng())) == 0


@pytest.mark.parametrize("name", EVERY_POISONING)
def test_masks_have_a_bool_for_each_example(name: str) -> None:
    poisoning, examples = EVERY_POISONING[name], images()
    for mask in (poisoning.eligible(examples), poisoning.held_out(examples)):
        assert mask.dtype == torch.bool
        assert mask.shape == (len(examples),)
    assert bool(poisoning.held_out(examples).any()) == (name == "semantic")


def test_the_choice_depends_on_the_generator_alone() -> None:
    examples, attack = images(), SinglePixel(target=9, fraction=0.5)
    first, again, other = (poison_examples(attack, examples, 0, 1, rng(seed)) for seed in (3, 3, 4))
    assert torch.equal(first.y, again.y)
    assert torch.equal(flat_inputs(first), flat_inputs(again))
    assert not torch.equal(first.y, other.y)


def test_a_larger_rate_poisons_the_same_examples_and_more() -> None:
    examples = Examples.from_arrays(np.arange(30, dtype=np.float32)[:, None], np.ones(30, dtype=np.int64))
    sets = []
    for rate in (0.2, 0.5, 1.0):
        found = poison_examples(LabelFlip(target=0, rate=rate), examples, 0, 1, rng())
        sets.append(set(found.x[found.y == 0].flatten().tolist()))
    assert sets[0] < sets[1] < sets[2]


def test_a_fraction_of_zero_leaves_the_data_alone() -> None:
    examples = images()
    assert poison_examples(SinglePixel(fraction=0.0, rate=0.5), examples, 0, 1, rng()) is examples


def test_labels_of_ragged_text_are_flipped_in_place_and_some_are_left_out() -> None:
    sequences = [[5, 3], [7], [2, 2, 9], [4], [8, 8], [6, 1, 1, 1]]
    examples = Examples.from_arrays(Ragged.from_sequences(sequences), [1, 0, 1, 1, 2, 1])
    found = poison_examples(LabelFlip(target=0, source=1, rate=0.5), examples, 0, 1, rng())
    assert isinstance(found.x, Ragged)
    kept = [
        found.x.values[a:b].tolist() for a, b in zip(found.x.offsets[:-1], found.x.offsets[1:], strict=True)
    ]
    places = [sequences.index(sequence) for sequence in kept]
    assert places == sorted(places)
    assert {1, 4} < set(places)
    assert len(places) == 4
    assert found.y.tolist() == [0 if place != 4 else 2 for place in places]


def test_pixels_are_refused_where_there_are_none() -> None:
    text = Examples.from_arrays(Ragged.from_sequences([[5, 3], [7]]), [1, 0])
    with pytest.raises(InvalidType, match=r"must be images .* got sequences of different lengths"):
        poison_examples(SinglePixel(), text, 0, 1, rng())


@pytest.mark.parametrize("name", EVERY_POISONING)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fraction": 1.5}, "poison fraction must be from 0 to 1, got 1.5"),
        ({"fraction": -0.1}, "poison fraction must be from 0 to 1, got -0.1"),
        ({"fraction": math.nan}, "poison fraction must be finite, got nan"),
        ({"rate": 0.0}, "poisoning rate must be above 0 and at most 1, got 0.0"),
        ({"rate": 1.01}, "poisoning rate must be above 0 and at most 1, got 1.01"),
        ({"target": -1}, "target label must be at least 0, got -1"),
        ({"target": 1.5}, "target label must be a whole number, got 1.5"),
    ],
)
def test_every_poisoning_refuses_what_cannot_be(name: str, changes: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        changed(name, **changes)
    assert str(refusal.value) == message


@pytest.mark.parametrize("name", EVERY_POISONING)
def test_every_poisoning_refuses_a_target_that_does_not_exist(name: str) -> None:
    examples = images()
    federation = Federation.from_arrays(examples.x, examples.y, np.arange(40) // 10, num_classes=4)
    changed(name, target=3).check(federation, 2)
    with pytest.raises(InvalidValue, match="target label must be below the number of classes, 4, got 4"):
        changed(name, target=4).check(federation, 2)


def test_the_limits_of_fraction_and_rate_are_allowed() -> None:
    check_portion(0, 1)
    check_portion(1, 1e-9)
    check_portion(np.float64(0.5), np.float64(0.5))
