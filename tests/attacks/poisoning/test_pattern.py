from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fedward.attacks.poisoning import PatternBackdoor, Pixels, Square, Triangle
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from support import flat_inputs

CORNERS = Pixels(places=((0, 0), (-1, -1)))


def coloured(channels: int = 3, n: int = 4) -> Examples:
    rng = np.random.default_rng(0)
    return Examples.from_arrays(rng.random((n, channels, 5, 4), dtype=np.float32), np.arange(n))


def federation(examples: Examples) -> Federation:
    return Federation.from_arrays(examples.x, examples.y, np.arange(len(examples)), num_classes=10)


def test_the_pattern_is_planted_in_every_channel_and_nothing_else_changes() -> None:
    clean = coloured()
    bad = PatternBackdoor(pattern=Triangle(size=2), target=7, value=0.25).poison(clean)
    mask = torch.zeros(5, 4, dtype=torch.bool)
    mask[3, 3] = mask[4, 2] = mask[4, 3] = True
    assert torch.equal(flat_inputs(bad), torch.where(mask, 0.25, flat_inputs(clean)))
    assert bad.y.tolist() == [7, 7, 7, 7]


def test_each_channel_can_have_its_own_value() -> None:
    clean = coloured()
    bad = PatternBackdoor(pattern=CORNERS, target=0, value=(1.0, 0.0, 0.5)).poison(clean)
    for row, column in ((0, 0), (4, 3)):
        assert flat_inputs(bad)[:, :, row, column].tolist() == [[1.0, 0.0, 0.5]] * 4


def test_each_pixel_can_have_its_own_value_in_reading_order() -> None:
    attack = PatternBackdoor(pattern=Pixels(places=((-1, -1), (0, 0))), target=0, value=((0.25, 0.75),))
    bad = attack.poison(coloured(channels=1))
    assert flat_inputs(bad)[:, 0, 0, 0].tolist() == [0.25] * 4
    assert flat_inputs(bad)[:, 0, 4, 3].tolist() == [0.75] * 4


def test_values_of_channels_and_of_pixels_can_be_mixed() -> None:
    attack = PatternBackdoor(pattern=CORNERS, target=0, value=((0.25, 0.75), 1.0, (0.0, 0.5)))
    bad = attack.poison(coloured())
    assert flat_inputs(bad)[0, :, 0, 0].tolist() == [0.25, 1.0, 0.0]
    assert flat_inputs(bad)[0, :, 4, 3].tolist() == [0.75, 1.0, 0.5]


def test_images_without_a_channel_are_one_channel() -> None:
    clean = coloured(channels=1)
    flat = Examples(flat_inputs(clean)[:, 0], clean.y)
    attack = PatternBackdoor(pattern=Square(size=2), target=0, value=((0.1, 0.2, 0.3, 0.4),))
    assert torch.equal(flat_inputs(attack.poison(flat)), flat_inputs(attack.poison(clean))[:, 0])


def test_an_image_planted_by_a_mask_of_itself_is_that_image() -> None:
    picture = torch.rand(5, 4, generator=torch.Generator().manual_seed(0))
    everywhere = Pixels.from_mask(torch.ones(5, 4))
    attack = PatternBackdoor(pattern=everywhere, target=0, value=(tuple(picture.flatten().tolist()),))
    assert torch.equal(flat_inputs(attack.poison(coloured(channels=1)))[0, 0], picture)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("inf"), "value must be finite, got inf"),
        ((1.0, float("nan"), 1.0), "value must be finite, got nan"),
        (1e39, r"value must be finite in single precision, got 1e\+39"),
        ("white", "value must be a number, got 'white'"),
        ((), r"value must be given for at least one channel and pixel, got \(\)"),
        (((),), r"value must be given for at least one channel and pixel, got \(\(\),\)"),
    ],
)
def test_a_value_that_no_pixel_can_have_is_refused(value: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        PatternBackdoor(pattern=CORNERS, target=0, value=value)


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (
            PatternBackdoor(pattern=Square(size=5), target=0),
            "trigger must lie inside the image of 5 x 4 pixels",
        ),
        (PatternBackdoor(pattern=CORNERS, target=10), "below the number of classes, 10, got 10"),
        (
            PatternBackdoor(pattern=CORNERS, target=0, value=(1.0, 1.0)),
            r"one entry for each of 3 channels .*, got \(1.0, 1.0\)",
        ),
        (
            PatternBackdoor(pattern=CORNERS, target=0, value=((1.0, 1.0, 1.0),) * 3),
            "one for each of 2 pixels, got 3 of them",
        ),
    ],
)
def test_what_does_not_fit_the_images_is_refused_before_training(
    attack: PatternBackdoor, message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        attack.check(federation(coloured()), 1)


def test_data_without_pixels_is_refused_before_training() -> None:
    table = federation(Examples.from_arrays(np.zeros((4, 3), dtype=np.float32), np.arange(4)))
    with pytest.raises(InvalidValue, match=r"examples must be images .*, got shape \(3,\)"):
        PatternBackdoor(pattern=CORNERS, target=0).check(table, 1)
