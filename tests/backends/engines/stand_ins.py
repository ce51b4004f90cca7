"""What every way around a fault of torch must keep: the function, and a copy's own parameters."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

COPIES: list[Callable[[Any], Any]] = [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))]


def assert_same_function(layer: nn.Module, x: Tensor, avoid: Callable[[nn.Module], None]) -> None:
    """Scores and all gradients, before and after."""
    changed = copy.deepcopy(layer)
    avoid(changed)
    found = []
    for each in (layer, changed):
        inputs = x.clone().requires_grad_()
        scores = each(inputs)
        scores.square().sum().backward()
        found.append([scores.detach(), inputs.grad, *(p.grad for p in each.parameters())])
    for before, after in zip(*found, strict=True):
        torch.testing.assert_close(after, before, rtol=1e-12, atol=1e-12)


def assert_a_copy_is_its_own(layer: nn.Module, x: Tensor, copied: Callable[[Any], Any]) -> None:
    before = layer(x)
    other = copied(layer)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    assert float(other(x).detach().abs().sum()) == 0
    assert torch.equal(layer(x), before)
