from __future__ import annotations

from typing import Any

import pytest
import torch

from fedward.attacks.poisoning import BlendedBackdoor
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples
from fedward.core.federation import Federation

IMAGES = Examples(torch.rand(5, 2, 3, 4, generator=torch.Generator().manual_seed(0)), torch.arange(5) % 3)


def test_every_pixel_is_the_mixture_of_image_and_picture() -> None:
    attack = BlendedBackdoor(target=1, weight=0.3, least=-1.0, most=2.0)
    bad = attack.poison(IMAGES)
    assert isinstance(IMAGES.x, torch.Tensor)
    picture = attack.picture(IMAGES.x)
    assert picture.shape == (2, 3, 4)
    assert float(picture.min()) >= -1
    assert float(picture.max()) <= 2
    assert torch.allclose(torch.as_tensor(bad.x), 0.7 * IMAGES.x + 0.3 * picture)
    assert bad.y.tolist() == [1] * 5


def test_the_picture_is_one_for_a_key_and_another_for_another() -> None:
    one, same, other = (BlendedBackdoor(target=0, key=key).poison(IMAGES).x for key in (3, 3, 4))
    assert torch.equal(torch.as_tensor(one), torch.as_tensor(same))
    assert not torch.equal(torch.as_tensor(one), torch.as_tensor(other))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"target": -1}, InvalidValue),
        ({"target": 0, "weight": 0.0}, InvalidValue),
        ({"target": 0, "weight": 1.1}, InvalidValue),
        ({"target": 0, "key": 0.5}, InvalidType),
        ({"target": 0, "least": 1.0}, InvalidValue),
        ({"target": 0, "fraction": 2.0}, InvalidValue),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="must be"):
        BlendedBackdoor(**arguments)


def test_a_label_that_the_data_does_not_have_is_refused() -> None:
    federation = Federation.from_arrays(IMAGES.x, IMAGES.y, [0, 0, 1, 1, 1])
    BlendedBackdoor(target=2).check(federation, 1)
    with pytest.raises(InvalidValue, match="target label must be below the number of classes, 3, got 3"):
        BlendedBackdoor(target=3).check(federation, 1)
