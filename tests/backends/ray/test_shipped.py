from __future__ import annotations

import sys
import types

import torch
from torch import nn

from fedward import models
from fedward.backends.ray.shipped import ship, unship
from fedward.testing.backend_jobs import people
from fedward.testing.repeatable import same_bits


def test_tensors_come_back_with_their_bits_and_their_order_in_memory() -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    module = models.build("digits_cnn", input_shape=(1, 8, 8), num_classes=10, seed=1)
    again, federation, copy = unship(ship((x, people(), module)))
    assert torch.equal(again, x)
    assert again.stride() == x.stride()
    assert same_bits(federation.user(1), people().user(1))
    for mine, theirs in zip(module.parameters(), copy.parameters(), strict=True):
        assert isinstance(theirs, nn.Parameter)
        assert torch.equal(mine, theirs)
        assert theirs.requires_grad


def test_what_is_shipped_twice_in_one_value_is_one_thing() -> None:
    federation = people()
    first, second = unship(ship((federation, federation)))
    assert first is second


def test_a_copy_may_be_written_to() -> None:
    shipped = ship(torch.zeros(3))
    for array in shipped.tensors:
        array.setflags(write=False)
    unship(shipped).add_(1)
    assert unship(shipped).tolist() == [0, 0, 0]


def test_code_of_ones_own_goes_with_it() -> None:
    module = types.ModuleType("not_installed_anywhere")
    module.__file__ = "/somewhere/not_installed_anywhere.py"
    exec("class Mine:\n    def value(self):\n        return 7\n", module.__dict__)
    module.Mine.__module__ = module.__name__
    sys.modules[module.__name__] = module
    try:
        shipped = ship(module.Mine())
    finally:
        del sys.modules[module.__name__]
    assert unship(shipped).value() == 7
