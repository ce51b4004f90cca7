"""Multinomial logistic regression."""

from __future__ import annotations

import math

from torch import nn

from fedward.models import shapes


def logistic_regression(*, input_shape: tuple[int, ...], num_classes: int) -> nn.Sequential:
    """One linear layer on the flattened input: W x + b, to be put through a softmax by the loss.

    Args:
      input_shape: the shape of one example, any.
      num_classes: how many outputs there are.

    >>> logistic_regression(input_shape=(1, 8, 8), num_classes=10)[1]
    Linear(in_features=64, out_features=10, bias=True)
    >>> models = [logistic_regression(input_shape=(1, 28, 28), num_classes=n) for n in (2, 10)]
    >>> [sum(p.numel() for p in model.parameters()) for model in models]
    [1570, 7850]
    """
    shapes.check("logistic_regression", input_shape, num_classes)
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(input_shape), num_classes))
