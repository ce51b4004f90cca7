from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from fedward.attacks.attack_goal import Goal, split_test
from fedward.attacks.attack_types import Poisoning
from fedward.attacks.poisoning import (
    BoldDigit,
    DistributedBackdoor,
    LabelFlip,
    PatternBackdoor,
    SemanticBackdoor,
    SinglePixel,
    SlantedDigit,
    Square,
)
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from support import tiny_pictures

TEST = tiny_pictures().test
assert TEST is not None
# A number in the first pixel, which no trigger here covers, tells every test example from all others.
NUMBERED = Examples(TEST.x.clone(), TEST.y)  # type: ignore[union-attr]
NUMBERED.x[:, 0, 0, 0] = torch.arange(len(TEST)) / 1000  # type: ignore[index]

PIXEL = SinglePixel(target=0, value=5.0)
PATTERN = PatternBackdoor(pattern=Square(size=2), target=2, value=6.0)
PARTS = DistributedBackdoor(pattern=Square(size=2, row=1, column=1), target=1, value=7.0)
FLIP, ONE_TO_TWO = LabelFlip(target=0), LabelFlip(target=2, source=1)
BOLD = SemanticBackdoor(feature=BoldDigit(label=1, ink=0.3), target=0)
SLANTED = SemanticBackdoor(feature=SlantedDigit(label=2, slant=0.0), target=0)
ALL: dict[str, Poisoning] = {
    "pixel": PIXEL,
    "pattern": PATTERN,
    "parts": PARTS,
    "flip": FLIP,
    "1 to 2": ONE_TO_TWO,
    "bold": BOLD,
}


def split(*attacks: Any, share: float = 0.5, seed: int = 0, test: Examples = NUMBERED) -> Goal:
    named = [(str(place), attack) for place, attack in enumerate(attacks)]
    return split_test(test, named, share, np.random.default_rng(seed))


def numbers(examples: Examples) -> list[int]:
    """Which test examples these are."""
    return [round(1000 * float(x)) for x in examples.x[:, 0, 0, 0]]  # type: ignore[index]


@given(
    chosen=st.lists(st.sampled_from(sorted(ALL)), min_size=1, max_size=4),
    share=st.floats(0.5, 0.9),
    seed=st.integers(0, 100),
)
def test_no_test_example_is_clean_and_triggered_or_belongs_to_two_attacks(
    chosen: list[str], share: float, seed: int
) -> None:
    chosen = [name for place, name in enumerate(chosen) if name != "bold" or "bold" not in chosen[:place]]
    try:
        goal = split(*(ALL[name] for name in chosen), share=share, seed=seed)
    except InvalidValue:  # so few were dealt to one of them that none can carry it
        assume(False)
    used = [numbers(goal.clean), *(numbers(examples) for _, examples in goal.triggered)]
    together = [number for part in used for number in part]
    assert len(together) == len(set(together))
    assert all(len(part) > 0 for part in used)
    for number, label in zip(numbers(goal.clean), goal.clean.y.tolist(), strict=True):
        assert label == int(NUMBERED.y[number])
        assert torch.equal(goal.clean.x[used[0].index(number)], NUMBERED.x[number])  # type: ignore[index]
    for name, (_, examples) in zip(chosen, goal.triggered, strict=True):
        true = NUMBERED.y[torch.tensor(numbers(examples))]
        assert bool((true != ALL[name].target).all())
        assert bool((examples.y == ALL[name].target).all())


def test_the_share_decides_how_many_test_examples_triggers_are_put_to() -> None:
    goal = split(PIXEL, share=0.2)
    assert len(goal.clean) == 72
    ((_, triggered),) = goal.triggered
    taken = set(range(90)) - set(numbers(goal.clean))
    assert set(numbers(triggered)) == {number for number in taken if int(NUMBERED.y[number]) != 0}


def test_triggered_examples_carry_the_whole_trigger_and_no_other_change() -> None:
    goal = split(PIXEL, PATTERN, PARTS)
    for (_, examples), value, rows in zip(
        goal.triggered, (5.0, 6.0, 7.0), ([3], [2, 3], [1, 2]), strict=True
    ):
        pixels = torch.zeros(4, 4, dtype=torch.bool)
        for row in rows:
            pixels[row, rows] = True
        x = torch.as_tensor(examples.x)
        assert bool((x[:, 0, pixels] == value).all())
        before = torch.as_tensor(NUMBERED.x)[torch.tensor(numbers(examples))]
        assert torch.equal(x[:, 0, ~pixels], before[:, 0, ~pixels])


def test_a_source_label_is_the_only_one_that_a_flip_is_measured_on() -> None:
    ((_, flipped),) = split(ONE_TO_TWO).triggered
    assert {int(NUMBERED.y[number]) for number in numbers(flipped)} == {1}
    ((_, flipped),) = split(FLIP).triggered
    assert {int(NUMBERED.y[number]) for number in numbers(flipped)} == {1, 2}


def test_a_natural_backdoor_is_measured_on_all_its_examples_and_they_are_apart() -> None:
    natural = set(torch.nonzero(BOLD.feature.mask(NUMBERED)).flatten().tolist())
    assert natural
    for attacks in ((BOLD,), (BOLD, PIXEL), (PIXEL, BOLD)):
        goal = split(*attacks)
        examples = next(e for _, e in goal.triggered if set(numbers(e)) == natural)
        assert torch.equal(
            torch.as_tensor(examples.x), torch.as_tensor(NUMBERED.x)[torch.tensor(numbers(examples))]
        )
        if len(attacks) == 1:
            assert set(numbers(goal.clean)) == set(range(90)) - natural


def test_two_natural_backdoors_share_nothing() -> None:
    goal = split(BOLD, SLANTED, BOLD.__class__(feature=BoldDigit(label=1, ink=0.1), target=2))
    found = [set(numbers(examples)) for _, examples in goal.triggered]
    assert all(found)
    assert not found[0] & found[2]
    assert not found[1] & (found[0] | found[2])
    with pytest.raises(InvalidValue, match="no test example can show whether 1 succeeds: 0 are set aside"):
        split(BOLD, BOLD)


def test_without_poisoned_data_the_whole_test_set_is_clean() -> None:
    goal = split()
    assert goal.clean is NUMBERED
    assert goal.triggered == ()


def test_the_split_follows_the_seed() -> None:
    assert numbers(split(PIXEL, seed=3).clean) == numbers(split(PIXEL, seed=3).clean)
    assert numbers(split(PIXEL, seed=3).clean) != numbers(split(PIXEL, seed=4).clean)


@pytest.mark.parametrize(
    ("attacks", "share", "message"),
    [
        ((PIXEL,), 0.001, "no test example can show whether 0 succeeds: 0 are set aside for it"),
        ((PIXEL, PATTERN), 0.011, "no test example can show whether"),
        ((PIXEL,), 0.999, "no test example is left for the main task: share of .* is 0.999"),
    ],
)
def test_a_share_that_leaves_nothing_to_measure_is_refused(
    attacks: tuple[Any, ...], share: float, message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        split(*attacks, share=share)


def test_test_examples_of_the_target_only_are_refused() -> None:
    zeros = Examples(NUMBERED.x, torch.zeros_like(NUMBERED.y))
    for attack in (PIXEL, FLIP):
        with pytest.raises(InvalidValue, match=r"45 are set aside .* all of them have the target label 0"):
            split(attack, test=zeros)


def test_the_test_set_itself_is_left_alone() -> None:
    before = torch.as_tensor(NUMBERED.x).clone(), NUMBERED.y.clone()
    split(PIXEL, PARTS, FLIP, BOLD)
    assert torch.equal(before[0], torch.as_tensor(NUMBERED.x))
    assert torch.equal(before[1], NUMBERED.y)
