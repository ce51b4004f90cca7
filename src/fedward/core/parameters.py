"""A module's parameters as one flat vector: what is sent, clipped, averaged and noised."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.modules.batchnorm import _NormBase

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.plain import as_plain


@dataclass(frozen=True)
class ParameterSpec:
    """Where each parameter of a module lies in the flat vector.

    Trainable parameters come first, in the module's order; frozen ones stay in the module and are never
    sent. Running statistics of batch normalisation follow, so that federated averaging without privacy
    averages them too (under DP such layers are refused). Within a convolution's weight the input channel
    runs fastest, because convolutions are about twice as fast on that layout.

    >>> spec = ParameterSpec.of(nn.Linear(3, 2))
    >>> spec.size, dict(spec.layers())
    (8, {'weight': slice(0, 6, None), 'bias': slice(6, 8, None)})
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    trainable: int
    dtype: torch.dtype

    @classmethod
    def of(cls, module: nn.Module) -> ParameterSpec:
        trainable = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not trainable:
            raise InvalidValue(f"{type(module).__name__} has no trainable parameters")
        parameters = _plain(trainable)
        statistics = _plain(_running_statistics(module))
        kinds = {tensor.dtype for _, tensor in parameters + statistics}
        if len(kinds) > 1 or not kinds <= {torch.float32, torch.float64}:
            found = ", ".join(sorted(str(kind) for kind in kinds))
            raise InvalidType(f"parameters must all be float32 or all float64, got {found}")
        return cls(
            names=tuple(name for name, _ in parameters + statistics),
            shapes=tuple(tuple(tensor.shape) for _, tensor in parameters + statistics),
            trainable=sum(tensor.numel() for _, tensor in parameters),
            dtype=kinds.pop(),
        )

    @property
    def size(self) -> int:
        return sum(map(_count, self.shapes))

    def layers(self) -> Iterator[tuple[str, slice]]:
        """Each parameter's name and its place in the flat vector."""
        start = 0
        for name, shape in zip(self.names, self.shapes, strict=True):
            yield name, slice(start, start + _count(shape))
            start += _count(shape)

    def layer_sizes(self) -> tuple[int, ...]:
        """How many parameters each layer has; a layer's weight and bias count as one.

        >>> ParameterSpec.of(nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2))).layer_sizes()
        (8, 6)
        """
        named = zip(self.names, self.shapes, strict=True)
        layers = itertools.groupby(named, key=lambda parameter: parameter[0].rpartition(".")[0])
        return tuple(sum(_count(shape) for _, shape in parameters) for _, parameters in layers)

    def views(self, vector: Tensor) -> dict[str, Tensor]:
        """The flat vector as named tensors that share its memory."""
        if vector.shape != (self.size,):
            raise InvalidValue(f"parameters must have shape ({self.size},), got {tuple(vector.shape)}")
        return {
            name: _shaped(vector[place], shape)
            for (name, place), shape in zip(self.layers(), self.shapes, strict=True)
        }

    def flatten(self, module: nn.Module) -> Tensor:
        """A copy of the module's parameters as one vector: a plain tensor, whatever class they are of."""
        tensors = dict(module.named_parameters()) | dict(module.named_buffers())
        return torch.cat(
            [_flat(tensor) for _, tensor in _plain((name, tensors[name]) for name in self.names)]
        )

    @torch.no_grad()
    def load(self, module: nn.Module, vector: Tensor) -> None:
        """Writes a flat vector into the module."""
        tensors = dict(module.named_parameters()) | dict(module.named_buffers())
        for name, view in self.views(vector).items():
            tensors[name].copy_(view)


def flatten_state(state: Mapping[str, Tensor]) -> Tensor:
    """The flat vector of a stored ``state_dict``, where the module is not at hand.

    It is that of ``ParameterSpec.flatten`` if all parameters are trained and none is shared, else longer.

    >>> module = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(3, 2))
    >>> bool(flatten_state(module.state_dict()).equal(ParameterSpec.of(module).flatten(module)))
    True
    """
    floating = {name: tensor for name, tensor in state.items() if tensor.is_floating_point()}
    statistics = [name for name in floating if name.rpartition(".")[2] in _STATISTICS]
    names = [name for name in floating if name not in statistics] + statistics
    return torch.cat([_flat(floating[name]) for name in names]) if names else torch.empty(0)


class FlatModule:
    """A module whose parameters and gradients are views of two flat vectors.

    One such module is reused for every user that is trained: loading a model is one copy, and an
    optimiser's step is a few operations on whole vectors.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.spec = ParameterSpec.of(module)
        self.parameters = self.spec.flatten(module)
        self._gradient = torch.zeros_like(self.parameters)
        gradients = self.spec.views(self._gradient)
        parameters = dict(module.named_parameters())
        for name, view in self.spec.views(self.parameters).items():
            if name in parameters:
                parameters[name].data = view
                parameters[name].grad = gradients[name]
            else:
                owner, _, buffer = name.rpartition(".")
                module.get_submodule(owner)._buffers[buffer] = view

    def __call__(self, x: Tensor, *, owned: bool = False) -> Tensor:
        """The module's output; images go in with the channel running fastest, as the weights do.

        ``x`` stays as it is, though a module may write to its input (``nn.ReLU(inplace=True)`` does): it gets
        memory of its own. Whoever has ``owned`` ``x`` and does not need it again saves that copy.
        """
        inputs = _channels_last(x) if x.ndim == 4 and x.is_floating_point() else x
        if not owned and inputs.data_ptr() == x.data_ptr():
            inputs = inputs.clone()
        scores: Tensor = self.module(inputs)
        return scores

    def add_gradient(self, x: Tensor, y: Tensor, divisor: int) -> None:
        """Adds the gradient of the examples' cross-entropies, summed and divided, to ``gradient``."""
        loss = cross_entropy(self(x), y, reduction="sum") / divisor
        loss.backward()  # type: ignore[no-untyped-call]

    @property
    def weights(self) -> Tensor:
        """The trainable part of ``parameters``: what an optimiser may change."""
        return self.parameters[: self.spec.trainable]

    @property
    def gradient(self) -> Tensor:
        """The gradient of ``weights``; ``backward`` adds to it."""
        return self._gradient[: self.spec.trainable]


_STATISTICS = ("running_mean", "running_var")


def _running_statistics(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for prefix, layer in module.named_modules():
        if isinstance(layer, _NormBase) and layer.track_running_stats:
            for name in _STATISTICS:
                buffer = getattr(layer, name)
                if isinstance(buffer, Tensor):
                    yield (f"{prefix}.{name}" if prefix else name), buffer


def _plain(named: Iterable[tuple[str, Tensor]]) -> list[tuple[str, Tensor]]:
    return [(name, as_plain(f"parameter {name}", tensor).detach()) for name, tensor in named]


def _shaped(flat: Tensor, shape: tuple[int, ...]) -> Tensor:
    if len(shape) != 4:
        return flat.view(shape)
    out, into, height, width = shape
    return flat.view(out, height, width, into).permute(0, 3, 1, 2)


def _flat(tensor: Tensor) -> Tensor:
    return (tensor.permute(0, 2, 3, 1) if tensor.ndim == 4 else tensor).reshape(-1)


def _channels_last(x: Tensor) -> Tensor:
    # Not .contiguous(memory_format=...): with one channel both layouts count as contiguous, nothing is
    # done, and torch goes on to choose the slow one.
    return x.permute(0, 2, 3, 1).contiguous().as_strided(x.shape, _channels_last_strides(x.shape))


def _channels_last_strides(shape: torch.Size) -> tuple[int, int, int, int]:
    _, channels, height, width = shape
    return channels * height * width, 1, channels * width, channels


def _count(shape: tuple[int, ...]) -> int:
    return int(torch.Size(shape).numel())
