"""The convolutional network that private learning on CIFAR-10 is usually measured with."""

from __future__ import annotations

from torch import nn

from fedward.models import shapes

SHAPE = (3, 32, 32)


def cifar_cnn(*, input_shape: tuple[int, ...] = SHAPE, num_classes: int = 10) -> nn.Sequential:
    """Four convolutions with average pooling, one linear layer: 131,466 parameters for 10 classes.

    Channels 32, 64, 64, 128, kernels of 3 x 3; the last pooling is over the whole picture.

    Args:
      input_shape: the shape of one example; only (3, 32, 32) is accepted.
      num_classes: how many outputs there are.

    >>> [sum(p.numel() for p in cifar_cnn(num_classes=n).parameters()) for n in (2, 10)]
    [130434, 131466]

    Xie et al. name the layers and take the sizes from the example of Opacus for CIFAR-10 (Yousefpour et al.
    2021): these. They start from weights trained on CIFAR-100 and train all layers on.
    """
    shapes.check("cifar_cnn", input_shape, num_classes, only=SHAPE)
    return nn.Sequential(
        *_convolution(3, 32, nn.AvgPool2d(2)),
        *_convolution(32, 64, nn.AvgPool2d(2)),
        *_convolution(64, 64, nn.AvgPool2d(2)),
        *_convolution(64, 128, nn.AdaptiveAvgPool2d(1)),
        nn.Flatten(),
        nn.Linear(128, num_classes),
    )


def _convolution(channels: int, filters: int, pool: nn.Module) -> tuple[nn.Module, ...]:
    return nn.Conv2d(channels, filters, 3, padding=1), nn.ReLU(), pool
