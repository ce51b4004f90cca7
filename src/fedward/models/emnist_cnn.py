"""The five-layer convolutional network of backdoor experiments on EMNIST."""

from __future__ import annotations

from torch import nn

from fedward.models import shapes

SHAPE = (1, 28, 28)


def emnist_cnn(*, input_shape: tuple[int, ...] = SHAPE, num_classes: int = 10) -> nn.Sequential:
    """Two convolutions, one max-pooling, two dense layers: 1,199,882 parameters for 10 classes.

    Channels 32 and 64, kernels of 3 x 3 without padding, 128 hidden units.

    Args:
      input_shape: the shape of one example; only (1, 28, 28) is accepted.
      num_classes: how many outputs there are.

    >>> [sum(p.numel() for p in emnist_cnn(num_classes=n).parameters()) for n in (2, 10)]
    [1198850, 1199882]

    Miao et al. name the five layers and no sizes. These are those of TensorFlow Federated's network for
    EMNIST, which has the same five layers, without its dropout, which Miao et al. do not name.
    """
    shapes.check("emnist_cnn", input_shape, num_classes, only=SHAPE)
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 12 * 12, 128),
        nn.ReLU(),
        nn.Linear(128, num_classes),
    )
