"""The convolutional network that private learning on MNIST is usually measured with."""

from __future__ import annotations

from torch import nn

from fedward.models import shapes

SHAPE = (1, 28, 28)


def mnist_cnn(*, input_shape: tuple[int, ...] = SHAPE, num_classes: int = 10) -> nn.Sequential:
    """Two convolutions with pooling, two linear layers: 26,010 parameters for 10 classes.

    Args:
      input_shape: the shape of one example; only (1, 28, 28) is accepted.
      num_classes: how many outputs there are.

    >>> [sum(p.numel() for p in mnist_cnn(num_classes=n).parameters()) for n in (2, 10)]
    [25746, 26010]

    The small network of Papernot et al., Tempered sigmoid activations for deep learning with differential
    privacy, 2021, with ReLU, which is the example of Opacus for MNIST that Xie et al. take.
    """
    shapes.check("mnist_cnn", input_shape, num_classes, only=SHAPE)
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3),
        nn.ReLU(),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.ReLU(),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Linear(512, 32),
        nn.ReLU(),
        nn.Linear(32, num_classes),
    )
