"""A module as the list of layers that the native engine knows, or the reason why it is not one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from fedward.backends.engines.hooks import is_changed
from fedward.core.parameters import ParameterSpec
from fedward.models.residual import Residual


class NotCovered(ValueError):
    """The native engine does not know this model; the message says which part of it."""


@dataclass(frozen=True)
class Described:
    """What the engine is built from: the shape of an example, and one set of arguments for each layer."""

    channels: int
    height: int
    width: int
    layers: tuple[dict[str, Any], ...]


@dataclass
class _Walk:
    """How far the description has come: the shape that the next layer gets."""

    channels: int
    height: int
    width: int
    flat: bool
    places: dict[str, slice]
    layers: list[dict[str, Any]] = field(default_factory=list)
    open: list[_Shape] = field(default_factory=list)  # where branches began, and paths ended
    shared: bool = False  # another branch reads what the next layer gets

    @property
    def shape(self) -> _Shape:
        return self.channels, self.height, self.width, self.flat

    def go_to(self, shape: _Shape) -> None:
        self.channels, self.height, self.width, self.flat = shape

    def window(self, kernel: _Pair, stride: _Pair, padding: _Pair) -> None:
        if self.flat:
            raise NotCovered("a layer for images comes after the image was flattened")
        self.height = (self.height + 2 * padding[0] - kernel[0]) // stride[0] + 1
        self.width = (self.width + 2 * padding[1] - kernel[1]) // stride[1] + 1
        if self.height < 1 or self.width < 1:
            raise NotCovered("a kernel is larger than its input")

    def parameters(self, name: str, layer: nn.Conv2d | nn.Linear | nn.GroupNorm) -> dict[str, int]:
        prefix = f"{name}." if name else ""
        bias = -1 if layer.bias is None else self._take(f"{prefix}bias")
        return {"weight_at": self._take(f"{prefix}weight"), "bias_at": bias}

    def _take(self, name: str) -> int:
        # The vector has a parameter once, under its first name.
        if name not in self.places:
            raise NotCovered("some of its parameters are used twice")
        return int(self.places.pop(name).start)


_Pair = tuple[int, int]
_Shape = tuple[int, int, int, bool]


class _Branch:
    """The beginning of a residual block, in a walk."""


class _Shortcut:
    """The end of its path: the block's input once more."""


class _Sum:
    """Its end."""


_Part = nn.Module | _Branch | _Shortcut | _Sum


def describe(module: nn.Module, spec: ParameterSpec, shape: tuple[int, ...]) -> Described:
    """The layers of a module for examples of a shape.

    Covered are ``Conv2d``, ``Linear``, ``ReLU``, ``GroupNorm``, ``MaxPool2d``, ``AvgPool2d``,
    ``AdaptiveAvgPool2d``, ``Flatten`` and ``Identity``, alone, in ``Sequential``s or in ``Residual``s, in any
    order that makes sense, in float32.
    Anything that a subclass, a hook or a frozen parameter may have changed is not: it belongs to the loop,
    which asks the module itself.

    >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    >>> describe(model, ParameterSpec.of(model), (1, 2, 2)).layers[0]["kernel"]
    (2, 2)
    >>> describe(nn.Tanh(), ParameterSpec.of(model), (1, 2, 2))
    Traceback (most recent call last):
    fedward.backends.engines.native.describe.NotCovered: it has a layer Tanh
    """
    layers = list(_walk_modules(module))
    _check_parameters(module, spec)
    walk = _start(layers, spec, shape)
    for name, layer in layers:
        _LAYERS[type(layer)](walk, name, layer)
        walk.shared = isinstance(layer, _Branch | _Shortcut) or (
            walk.shared and isinstance(layer, nn.Identity | nn.Flatten)
        )
    if not walk.flat or (walk.height, walk.width) != (1, 1):
        raise NotCovered("it does not end with one row of scores")
    if walk.places:
        raise NotCovered(f"its parameter {next(iter(walk.places))} belongs to no layer that is known")
    first = _start(layers, spec, shape)
    return Described(first.channels, first.height, first.width, tuple(walk.layers))


def _walk_modules(module: nn.Module, prefix: str = "") -> Iterator[tuple[str, _Part]]:
    if is_changed(module):
        raise NotCovered(f"something is hooked to {prefix or 'it'}")
    if type(module) is nn.Sequential:
        # Not named_children(): that names a layer that stands in two places only once.
        for name, child in module._modules.items():
            assert child is not None
            yield from _walk_modules(child, f"{prefix}.{name}" if prefix else name)
    elif type(module) is Residual:
        inside = f"{prefix}." if prefix else ""
        yield prefix, _Branch()
        yield from _walk_modules(module.path, f"{inside}path")
        yield prefix, _Shortcut()
        yield from _walk_modules(module.shortcut, f"{inside}shortcut")
        yield prefix, _Sum()
    elif type(module) in _LAYERS:
        yield prefix, module
    else:
        raise NotCovered(f"it has a layer {type(module).__name__}")


def _check_parameters(module: nn.Module, spec: ParameterSpec) -> None:
    if spec.dtype != torch.float32:
        raise NotCovered(f"its parameters are {spec.dtype}")
    if not all(parameter.requires_grad for parameter in module.parameters()):
        raise NotCovered("some of its parameters are frozen")


def _start(layers: list[tuple[str, _Part]], spec: ParameterSpec, shape: tuple[int, ...]) -> _Walk:
    places = dict(spec.layers())
    if len(shape) == 3:
        return _Walk(*shape, flat=False, places=places)
    flattens = bool(layers) and isinstance(layers[0][1], nn.Flatten)
    if len(shape) == 1 or (shape and flattens):
        return _Walk(int(torch.Size(shape).numel()), 1, 1, flat=True, places=places)
    raise NotCovered(f"examples have shape {shape}")


def _convolution(walk: _Walk, name: str, layer: nn.Conv2d) -> None:
    if layer.groups != 1 or layer.dilation != (1, 1) or layer.padding_mode != "zeros":
        raise NotCovered(f"its layer {name} has groups, dilation or another padding than zeros")
    kernel, stride = _pair(layer.kernel_size), _pair(layer.stride)
    padding = _padding(name, layer)
    walk.window(kernel, stride, padding)
    if layer.in_channels != walk.channels:
        raise NotCovered(f"its layer {name} takes {layer.in_channels} channels and gets {walk.channels}")
    walk.channels = layer.out_channels
    walk.layers.append(
        {
            "kind": "convolution",
            "outputs": layer.out_channels,
            "kernel": kernel,
            "stride": stride,
            "padding": padding,
            **walk.parameters(name, layer),
        }
    )


def _linear(walk: _Walk, name: str, layer: nn.Linear) -> None:
    if not walk.flat or layer.in_features != walk.channels * walk.height * walk.width:
        raise NotCovered(f"its layer {name} does not take one row of {layer.in_features} numbers")
    walk.layers.append(
        {
            "kind": "convolution",
            "outputs": layer.out_features,
            "kernel": (walk.height, walk.width),
            "channels_last": False,
            **walk.parameters(name, layer),
        }
    )
    walk.channels, walk.height, walk.width = layer.out_features, 1, 1


def _largest(walk: _Walk, name: str, layer: nn.MaxPool2d) -> None:
    if _pair(layer.dilation) != (1, 1) or layer.return_indices:
        raise NotCovered(f"its layer {name} has a dilation or returns indices")
    _pool(walk, name, layer, "largest")


def _mean(walk: _Walk, name: str, layer: nn.AvgPool2d) -> None:
    if layer.divisor_override is not None:
        raise NotCovered(f"its layer {name} has a divisor of its own")
    _pool(walk, name, layer, "mean", counts_padding=bool(layer.count_include_pad))


def _pool(walk: _Walk, name: str, layer: nn.MaxPool2d | nn.AvgPool2d, kind: str, **more: bool) -> None:
    if layer.ceil_mode:
        raise NotCovered(f"its layer {name} has ceil_mode")
    kernel, stride, padding = _pair(layer.kernel_size), _pair(layer.stride), _pair(layer.padding)
    if 2 * padding[0] > kernel[0] or 2 * padding[1] > kernel[1]:
        raise NotCovered(f"its layer {name} pads more than half of its kernel")
    walk.window(kernel, stride, padding)
    walk.layers.append({"kind": kind, "kernel": kernel, "stride": stride, "padding": padding, **more})


def _adaptive(walk: _Walk, name: str, layer: nn.AdaptiveAvgPool2d) -> None:
    walk.window((1, 1), (1, 1), (0, 0))
    high, wide = _two(layer.output_size)
    out = (walk.height if high is None else int(high), walk.width if wide is None else int(wide))
    if min(out) < 1:
        raise NotCovered(f"its layer {name} has no output")
    walk.height, walk.width = out
    walk.layers.append({"kind": "adaptive_mean", "out": out})


def _relu(walk: _Walk, name: str, layer: nn.ReLU) -> None:
    if layer.inplace and walk.shared:
        raise NotCovered(f"its layer {name} changes what another branch reads")
    walk.layers.append({"kind": "relu"})


def _normalisation(walk: _Walk, name: str, layer: nn.GroupNorm) -> None:
    pixels = walk.height * walk.width
    if layer.num_channels != walk.channels or (walk.flat and pixels > 1):
        raise NotCovered(f"its layer {name} does not take {walk.channels} channels")
    if layer.num_channels == layer.num_groups and pixels == 1:
        raise NotCovered(f"its layer {name} has groups of one number")
    if (layer.weight is None) != (layer.bias is None):
        raise NotCovered(f"its layer {name} has a weight or a bias, and not both")
    places = {"weight_at": -1, "bias_at": -1} if layer.weight is None else walk.parameters(name, layer)
    walk.layers.append(
        {"kind": "normalisation", "groups": layer.num_groups, "epsilon": float(layer.eps), **places}
    )


def _branch(walk: _Walk, name: str, part: _Branch) -> None:
    walk.open.append(walk.shape)
    walk.layers.append({"kind": "branch"})


def _shortcut(walk: _Walk, name: str, part: _Shortcut) -> None:
    start, walk.open[-1] = walk.open[-1], walk.shape
    walk.go_to(start)
    walk.layers.append({"kind": "shortcut"})


def _sum(walk: _Walk, name: str, part: _Sum) -> None:
    if walk.open.pop() != walk.shape:
        raise NotCovered(f"the path and the shortcut of its block {name} end with different shapes")
    walk.layers += [{"kind": "sum"}, {"kind": "relu"}]


def _flatten(walk: _Walk, name: str, layer: nn.Flatten) -> None:
    if (layer.start_dim, layer.end_dim) != (1, -1):
        raise NotCovered(f"its layer {name} does not flatten all of an example")
    walk.flat = True


def _identity(walk: _Walk, name: str, layer: nn.Identity) -> None:
    pass


_LAYERS: dict[type, Callable[..., None]] = {
    nn.Conv2d: _convolution,
    nn.Linear: _linear,
    nn.MaxPool2d: _largest,
    nn.AvgPool2d: _mean,
    nn.AdaptiveAvgPool2d: _adaptive,
    nn.ReLU: _relu,
    nn.GroupNorm: _normalisation,
    _Branch: _branch,
    _Shortcut: _shortcut,
    _Sum: _sum,
    nn.Flatten: _flatten,
    nn.Identity: _identity,
}


def _pair(value: Any) -> _Pair:
    first, second = _two(value)
    return int(first), int(second)


def _two(value: Any) -> tuple[Any, Any]:
    """One number or two, as torch takes them."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values[0], values[-1]


def _padding(name: str, layer: nn.Conv2d) -> _Pair:
    if not isinstance(layer.padding, str):
        return _pair(layer.padding)
    if layer.padding == "valid":
        return 0, 0
    if any(size % 2 == 0 for size in layer.kernel_size):
        raise NotCovered(f"its layer {name} pads one side more than the other")
    return layer.kernel_size[0] // 2, layer.kernel_size[1] // 2
