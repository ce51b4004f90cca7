from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.attacks.poisoning import DistributedBackdoor, Pattern, PatternBackdoor, Pixels, Square, Triangle
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from support import flat_inputs

ROWS, COLUMNS = 6, 7
PLACES = st.tuples(st.integers(0, ROWS - 1), st.integers(0, COLUMNS - 1))
PATTERNS = st.one_of(
    st.sets(PLACES, min_size=1).map(lambda places: Pixels(places=tuple(places))),
    st.integers(1, 6).map(lambda size: Square(size=size)),
    st.integers(1, 6).map(lambda size: Triangle(size=size)),
)


@given(pattern=PATTERNS, channels=st.sampled_from([1, 3]), data=st.data())
def test_the_parts_are_disjoint_and_add_up_to_the_last_pixel(
    pattern: Pattern, channels: int, data: st.DataObject
) -> None:
    pixels = len(pattern.pixels((ROWS, COLUMNS)))
    attackers = data.draw(st.integers(1, pixels))
    # Every pixel of every channel has a value of its own, none of which the image has.
    values = tuple(
        tuple(float(100 * channel + pixel + 1) for pixel in range(pixels)) for channel in range(channels)
    )
    clean = Examples(torch.zeros(2, channels, ROWS, COLUMNS), torch.tensor([3, 4]))
    attack = DistributedBackdoor(pattern=pattern, target=1, value=values)
    parts = [attack.poison(clean, attacker, attackers) for attacker in range(attackers)]
    changed = torch.stack([flat_inputs(part) != 0 for part in parts])

    assert int(changed.sum(0).max()) == 1
    whole = PatternBackdoor(pattern=pattern, target=1, value=values).poison(clean)
    assert torch.equal(torch.stack([flat_inputs(part) for part in parts]).sum(0), flat_inputs(whole))
    assert torch.equal(flat_inputs(attack.poison(clean)), flat_inputs(whole))
    assert all(part.y.tolist() == [1, 1] for part in parts)

    sizes = changed[:, 0, 0].flatten(1).sum(1)
    assert int(sizes.min()) >= 1
    assert int(sizes.max() - sizes.min()) <= 1
    # Contiguous in reading order: attacker i's pixels all come before those of attacker i + 1.
    owners = [
        attacker for pixel in changed[:, 0, 0].flatten(1).T for attacker in pixel.nonzero().flatten().tolist()
    ]
    assert owners == sorted(owners)


def test_four_attackers_share_a_triangle() -> None:
    clean = Examples(torch.zeros(1, 1, 4, 4), torch.tensor([3]))
    attack = DistributedBackdoor(pattern=Triangle(size=4), target=0)
    parts = [flat_inputs(attack.poison(clean, attacker, 4))[0, 0].nonzero().tolist() for attacker in range(4)]
    assert parts == [
        [[0, 3], [1, 2]],
        [[1, 3], [2, 1], [2, 2]],
        [[2, 3], [3, 0]],
        [[3, 1], [3, 2], [3, 3]],
    ]


def test_more_attackers_than_pixels_are_refused_before_training() -> None:
    federation = Federation.from_arrays(
        np.zeros((8, 1, 4, 4), dtype=np.float32), np.arange(8) % 2, np.arange(8)
    )
    attack = DistributedBackdoor(pattern=Triangle(size=2), target=0)
    for attackers in (0, 1, 3):
        attack.check(federation, attackers)
    with pytest.raises(InvalidValue, match=r"at most the number of pixels of the pattern .*, 3, got 4"):
        attack.check(federation, 4)


@pytest.mark.parametrize(
    ("attacker", "attackers", "message"),
    [
        (2, 2, "attacker must be from 0 to 1, got 2"),
        (-1, 2, "attacker must be at least 0, got -1"),
        (0, 0, "number of attackers must be at least 1, got 0"),
        (0, 5, "at most the number of pixels"),
    ],
)
def test_a_part_that_does_not_exist_is_refused(attacker: int, attackers: int, message: str) -> None:
    clean = Examples(torch.zeros(1, 4, 4), torch.tensor([3]))
    attack = DistributedBackdoor(pattern=Square(size=2), target=0)
    with pytest.raises(InvalidValue, match=message):
        attack.poison(clean, attacker, attackers)


def test_what_does_not_fit_the_images_is_refused() -> None:
    federation = Federation.from_arrays(np.zeros((2, 4, 4), dtype=np.float32), [0, 1], [0, 1])
    with pytest.raises(InvalidValue, match="trigger must lie inside the image of 4 x 4 pixels"):
        DistributedBackdoor(pattern=Square(size=5), target=0).check(federation, 1)
    with pytest.raises(InvalidValue, match="value must be finite"):
        DistributedBackdoor(pattern=Square(size=2), target=0, value=float("nan"))


def test_all_images_are_eligible_and_none_is_held_out() -> None:
    clean = Examples(torch.zeros(2, 4, 4), torch.tensor([0, 1]))
    attack = DistributedBackdoor(pattern=Square(size=2), target=0)
    assert attack.eligible(clean).all()
    assert not attack.held_out(clean).any()
