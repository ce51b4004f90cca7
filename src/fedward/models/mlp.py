"""A small fully connected network: fast, and it sees every pixel."""

from __future__ import annotations

import math

from torch import nn

from fedward.base.validate import whole
from fedward.models import shapes

HIDDEN = 100


def mlp(*, input_shape: tuple[int, ...], num_classes: int, hidden: int | None = None) -> nn.Sequential:
    """One hidden layer, of 100 units unless told otherwise: 79,510 parameters for MNIST.

    Every pixel has weights of its own, which a backdoor of a single pixel needs: the strided convolutions of
    ``mnist_cnn`` hardly see the last pixel.

    Args:
      input_shape: the shape of one example; any.
      num_classes: how many outputs there are.
      hidden: how many units the hidden layer has; 100 if not given.

    >>> [sum(p.numel() for p in mlp(input_shape=(1, 28, 28), num_classes=n).parameters()) for n in (2, 10)]
    [78702, 79510]

    One hidden layer of the 2NN of McMahan et al. 2017.
    """
    shapes.check("mlp", input_shape, num_classes)
    units = HIDDEN if hidden is None else whole("hidden units", hidden)
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(math.prod(input_shape), units),
        nn.ReLU(),
        nn.Linear(units, num_classes),
    )
