"""A way around a fault of torch: convolutions of 1 x 1 with a stride."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.functional import conv2d, pad


def avoid_overrun(module: nn.Module) -> None:
    """Lets every 1 x 1 convolution with a stride pick its pixels first, and then go without a stride.

    That is the same function. As it stands, the backward pass of torch 2.13 (oneDNN, few input channels,
    the channel running fastest) writes outside of its memory.

    >>> import torch
    >>> layer = nn.Conv2d(3, 2, 1, stride=2, padding=1)
    >>> x = torch.randn(1, 3, 5, 5)
    >>> before = layer(x)
    >>> avoid_overrun(layer)
    >>> bool(torch.allclose(layer(x), before, atol=1e-6))
    True
    """
    for layer in module.modules():
        # Padding by a mirror has its own way through torch.
        if not isinstance(layer, nn.Conv2d) or layer.padding_mode != "zeros":
            continue
        if layer.kernel_size == (1, 1) and layer.stride != (1, 1):
            layer._conv_forward = _Picked(layer)  # type: ignore[method-assign,assignment]


class _Picked:
    """Stands in for ``Conv2d._conv_forward``; a class, so that the layer can still be copied and sent."""

    def __init__(self, layer: nn.Conv2d) -> None:
        # By name it can only be "valid", which is none: "same" does not go with a stride.
        self.padding = (0, 0) if isinstance(layer.padding, str) else layer.padding
        self.stride, self.groups = layer.stride, layer.groups

    def __call__(self, x: Tensor, weight: Tensor, bias: Any) -> Tensor:
        high, wide = self.padding
        if high or wide:
            x = pad(x, (wide, wide, high, high))
        return conv2d(x[..., :: self.stride[0], :: self.stride[1]], weight, bias, groups=self.groups)
