"""A linear head on vectors, all zeros at first: for public features."""

from __future__ import annotations

import math

from torch import nn

from fedward.models import shapes


def linear_head(*, input_shape: tuple[int, ...], num_classes: int, bias: bool = False) -> nn.Sequential:
    """One linear layer on the flattened input that starts from zeros: whatever it says it has learned.

    Args:
      input_shape: the shape of one example, any.
      num_classes: how many outputs there are.
      bias: whether outputs have a bias; it would be released with noise as well.

    >>> head = linear_head(input_shape=(12,), num_classes=10)
    >>> head[1], float(head[1].weight.detach().abs().sum())
    (Linear(in_features=12, out_features=10, bias=False), 0.0)
    """
    shapes.check("linear_head", input_shape, num_classes)
    layer = nn.Linear(math.prod(input_shape), num_classes, bias=bias)
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    return nn.Sequential(nn.Flatten(), layer)
