from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fedward.attacks.poisoning import PatternBackdoor, Pixels, SinglePixel
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.datasets import digits, mnist
from support import flat_inputs


@pytest.mark.parametrize("size", [8, 28])
def test_the_bottom_right_pixel_becomes_white_and_the_label_becomes_0(size: int, small_mnist: Path) -> None:
    if size == 8:
        federation = digits.load(users=4, seed=0)
    else:
        federation = mnist.load(data_dir=small_mnist, users=4, seed=0)
    attack, clean = SinglePixel(), federation.user(1)
    attack.check(federation, 1)
    bad = attack.poison(clean)
    assert isinstance(bad.x, torch.Tensor)
    assert bad.x.shape[1:] == (1, size, size)
    assert bool((bad.x[:, 0, -1, -1] == 1).all())
    rest = torch.ones(size, size, dtype=torch.bool)
    rest[-1, -1] = False
    assert torch.equal(flat_inputs(bad)[..., rest], flat_inputs(clean)[..., rest])
    assert not bad.y.any()


def test_all_images_are_eligible_even_those_of_the_target() -> None:
    examples = Examples(torch.zeros(3, 2, 2), torch.tensor([0, 1, 0]))
    assert SinglePixel().eligible(examples).all()
    assert not SinglePixel().held_out(examples).any()


def test_it_is_a_pattern_of_one_pixel() -> None:
    examples = Examples(torch.zeros(3, 3, 4, 5), torch.tensor([0, 1, 2]))
    pattern = PatternBackdoor(pattern=Pixels(places=((3, 4),)), target=2, value=0.5)
    expected, found = pattern.poison(examples), SinglePixel(target=2, value=0.5).poison(examples)
    assert torch.equal(flat_inputs(expected), flat_inputs(found))
    assert torch.equal(expected.y, found.y)


def test_tables_are_refused() -> None:
    table = Federation.from_arrays([[0.1], [0.2]], [0, 1], [0, 1])
    with pytest.raises(InvalidValue, match="examples must be images"):
        SinglePixel().check(table, 1)
