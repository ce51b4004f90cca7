"""A way around a fault of torch: convolutions of one channel whose stride leaves one column."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.functional import conv2d, pad


def avoid_overread(module: nn.Module) -> None:
    """Lets a convolution of one channel that gives one column read just the columns that it needs.

    That is the same function: the stride across never comes into play. As it stands, torch 2.13 (oneDNN with
    AVX-512, stride 1 downwards, the channel running fastest) computes with memory that is not the picture's:
    the result is wrong, and not finite if a NaN was left there by something else.

    >>> import torch
    >>> layer = nn.Conv2d(1, 2, 2, stride=(1, 3), padding=(1, 0))
    >>> x = torch.randn(1, 1, 5, 4)
    >>> before = layer(x)
    >>> avoid_overread(layer)
    >>> bool(torch.allclose(layer(x), before, atol=1e-6))
    True
    """
    for layer in module.modules():
        # Padding by a mirror has its own way through torch; single points are taken care of elsewhere.
        if not isinstance(layer, nn.Conv2d) or layer.padding_mode != "zeros" or layer.kernel_size == (1, 1):
            continue
        down, across = layer.stride
        if layer.in_channels == 1 and down == 1 and across > 1:
            layer._conv_forward = _Cropped(layer)  # type: ignore[method-assign,assignment]


class _Cropped:
    """Stands in for ``Conv2d._conv_forward``; a class, so that the layer can still be copied and sent."""

    def __init__(self, layer: nn.Conv2d) -> None:
        # By name it can only be "valid", which is none: "same" does not go with a stride.
        self.padding = (0, 0) if isinstance(layer.padding, str) else layer.padding
        self.stride, self.dilation = layer.stride, layer.dilation
        self.reach = layer.dilation[1] * (layer.kernel_size[1] - 1) + 1

    def __call__(self, x: Tensor, weight: Tensor, bias: Any) -> Tensor:
        high, wide = self.padding
        room = x.shape[-1] + 2 * wide - self.reach
        if not 0 <= room < self.stride[1]:  # more columns, or none: torch says what is wrong
            return conv2d(x, weight, bias, self.stride, self.padding, self.dilation)
        columns = pad(x, (wide, wide, 0, 0))[..., : self.reach]
        return conv2d(columns, weight, bias, 1, (high, 0), self.dilation)
