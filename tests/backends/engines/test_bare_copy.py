"""Copies of modules without weights: they take no memory, and train and measure as the module itself does."""

from __future__ import annotations

import pickle

import torch
from torch import Tensor, nn

from fedward.backends.engines.bare_copy import bare_copy
from fedward.backends.engines.flat_model import flat_model
from fedward.core.parameters import ParameterSpec


class Tied(nn.Module):
    """A weight that is used twice, one that is frozen, a buffer, and an attribute."""

    offset: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(50, 50)
        self.second = nn.Linear(50, 50)
        self.second.weight = self.first.weight
        self.frozen = nn.Parameter(torch.ones(50), requires_grad=False)
        self.register_buffer("offset", torch.full((50,), 2.0))
        self.scales = [3.0]

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.second(self.first(x)) * self.frozen * self.scales[0] + self.offset
        return scores


def test_a_bare_copy_has_all_but_the_weights_and_takes_no_memory_for_those() -> None:
    module = Tied()
    found = bare_copy(module)
    assert isinstance(found, Tied)
    assert ParameterSpec.of(found) == ParameterSpec.of(module)
    assert found.first.weight is found.second.weight
    assert found.first.weight.untyped_storage().nbytes() == 4
    assert torch.equal(found.frozen, module.frozen)
    assert torch.equal(found.offset, module.offset)
    found.scales[0] = 4.0
    found.offset.zero_()
    assert (module.scales, float(module.offset[0])) == ([3.0], 2.0)


def test_with_weights_loaded_it_computes_what_the_module_does() -> None:
    module, x = Tied(), torch.randn(4, 50)
    expected = module(x)
    for bare in (bare_copy(module), pickle.loads(pickle.dumps(bare_copy(module)))):
        flat = flat_model(bare)
        flat.parameters.copy_(ParameterSpec.of(module).flatten(module))
        assert torch.equal(flat.module(x), expected)


def test_a_pickled_bare_copy_is_small() -> None:
    assert len(pickle.dumps(bare_copy(nn.Linear(1000, 1000)))) < 5_000
