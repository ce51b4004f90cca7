"""A convolutional network for scikit-learn's digits."""

from __future__ import annotations

from torch import nn

from fedward.models import shapes

SHAPE = (1, 8, 8)


def digits_cnn(*, input_shape: tuple[int, ...] = SHAPE, num_classes: int = 10) -> nn.Sequential:
    """Two convolutions, one pooling, one linear layer: 9,930 parameters for 10 classes.

    Args:
      input_shape: the shape of one example; only (1, 8, 8) is accepted.
      num_classes: how many outputs there are.

    >>> [sum(p.numel() for p in digits_cnn(num_classes=n).parameters()) for n in (2, 10)]
    [5826, 9930]
    """
    shapes.check("digits_cnn", input_shape, num_classes, only=SHAPE)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, num_classes),
    )
