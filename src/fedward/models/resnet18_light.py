"""ResNet-18 at half its width, for small pictures, with group normalisation."""

from __future__ import annotations

from torch import nn

from fedward.models import shapes
from fedward.models.residual import Residual

SHAPE = (3, 32, 32)
CHANNELS = (32, 64, 128, 256)
GROUPS = 8


def resnet18_light(*, input_shape: tuple[int, ...] = SHAPE, num_classes: int = 10) -> nn.Sequential:
    """Four stages of two residual blocks, one linear layer: 2,797,610 parameters for 10 classes.

    A first convolution of 3 x 3 with stride 1; stages of 32, 64, 128 and 256 channels, the last three with
    stride 2; average pooling. Every convolution is followed by ``GroupNorm`` with 8 groups: batch
    normalisation mixes examples, and no ε would hold.

    Args:
      input_shape: the shape of one example; only (3, 32, 32) is accepted.
      num_classes: how many outputs there are.

    >>> [sum(p.numel() for p in resnet18_light(num_classes=n).parameters()) for n in (2, 10)]
    [2795554, 2797610]

    Miao et al. say "lightweight ResNet18" (He et al. 2016) and no more. These are the widths in the code of
    Bagdasaryan et al., How to backdoor federated learning, 2020: half of the original ones. The number of
    groups is ours: at least 4 channels in each.
    """
    shapes.check("resnet18_light", input_shape, num_classes, only=SHAPE)
    first, *rest = CHANNELS
    layers: list[nn.Module] = [
        *_convolution(3, first, 3, 1),
        nn.ReLU(),
        block(first, first),
        block(first, first),
    ]
    into = first
    for channels in rest:
        layers += [block(into, channels, stride=2), block(channels, channels)]
        into = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(into, num_classes))


def block(into: int, out: int, stride: int = 1) -> Residual:
    """Two normalised convolutions and a way around them; where shapes change it is one of 1 x 1."""
    path = nn.Sequential(*_convolution(into, out, 3, stride), nn.ReLU(), *_convolution(out, out, 3, 1))
    same = stride == 1 and into == out
    return Residual(path, nn.Identity() if same else nn.Sequential(*_convolution(into, out, 1, stride)))


def _convolution(into: int, out: int, kernel: int, stride: int) -> tuple[nn.Module, nn.Module]:
    # No bias: the normalisation that follows has one.
    convolution = nn.Conv2d(into, out, kernel, stride=stride, padding=kernel // 2, bias=False)
    return convolution, nn.GroupNorm(GROUPS, out)
