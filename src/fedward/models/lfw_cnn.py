"""The convolutional network for faces that property inference is measured with."""

from __future__ import annotations

from torch import nn

from fedward.models import shapes

SHAPE = (3, 48, 48)
# Three times a convolution without padding and a pooling: of fewer pixels nothing is left.
_LEAST = 22


def lfw_cnn(*, input_shape: tuple[int, ...] = SHAPE, num_classes: int = 2) -> nn.Sequential:
    """Three convolutions with max-pooling, two dense layers: 618,306 parameters for two classes.

    Filters 32, 64, 128 of 3 x 3 without padding, 256 hidden units, ReLU throughout.

    Args:
      input_shape: the shape of one example: 3 channels, at least 22 x 22 pixels.
      num_classes: how many outputs there are.

    >>> [sum(p.numel() for p in lfw_cnn(num_classes=n).parameters()) for n in (2, 10)]
    [618306, 620362]

    Miao et al. give filters and dense layers; kernels, pooling and the lack of padding are those of the
    network that they cite, Melis et al., Exploiting unintended feature leakage in collaborative learning,
    2019, which had faces of 62 x 47 pixels.
    """
    shapes.check("lfw_cnn", input_shape, num_classes)
    shapes.check_picture("lfw_cnn", input_shape, channels=3, least=_LEAST)
    high, wide = (_after(size) for size in input_shape[1:])
    return nn.Sequential(
        nn.Conv2d(3, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128 * high * wide, 256),
        nn.ReLU(),
        nn.Linear(256, num_classes),
    )


def _after(size: int) -> int:
    for _ in range(3):
        size = (size - 2) // 2
    return size
