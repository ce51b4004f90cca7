"""A copy of a module without its weights, for whoever loads other ones into it anyhow."""

from __future__ import annotations

import copy

import torch
from torch import nn


def bare_copy(module: nn.Module) -> nn.Module:
    """A deep copy in which all numbers of a trainable parameter are one zero: it takes no memory.

    Everything else is copied as it is: frozen parameters, buffers, attributes, what is used twice.

    >>> found = bare_copy(nn.Linear(1000, 1000))
    >>> found.weight.shape, found.weight.untyped_storage().nbytes()
    (torch.Size([1000, 1000]), 4)
    """
    # Parameters of somebody's own class may hold more than numbers.
    plain = (p for p in module.parameters() if p.requires_grad and type(p) is nn.Parameter)
    return copy.deepcopy(module, {id(parameter): _without_memory(parameter) for parameter in plain})


def _without_memory(parameter: nn.Parameter) -> nn.Parameter:
    zero = torch.zeros((), dtype=parameter.dtype, device=parameter.device)
    return nn.Parameter(zero.expand(parameter.shape))
