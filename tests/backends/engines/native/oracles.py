"""The compiled engine for a stack, and what to compare it with."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad
from torch.nn.modules.utils import _pair

from backends.engines.native.stacks import Stack
from fedward.backends.engines.flat_model import flat_model
from fedward.backends.engines.native.describe import describe
from fedward.core.examples import Examples
from fedward.core.parameters import ParameterSpec
from fedward.core.types import LocalTrainer
from fedward.local import SGD
from fedward.models.residual import Residual
from support import flat_inputs

Array = np.ndarray[Any, Any]
# Nearer to a kink than this, rounding may decide on which side a float falls.
CLEAR = 1e-5
# A group of activations whose deviation is a smaller part than this of the largest, or of 1, magnifies what
# they were rounded by.
SPREAD = 0.03
# Of sums in float32: what the rounding of a few hundred additions comes to, in parts of what is added up.
ROUNDING = 128 * 2.0**-24


def engine_of(stack: Stack, instructions: str = "auto") -> Any:
    """The compiled engine for a stack."""
    from fedward.backends.engines.native import _engine

    spec = ParameterSpec.of(stack.module)
    found = describe(stack.module, spec, stack.shape)
    layers = [_engine.Layer(**layer) for layer in found.layers]
    return _engine.Engine(found.channels, found.height, found.width, layers, spec.size, instructions)


def instruction_sets() -> list[str]:
    """Those that this processor has, the portable one first."""
    from fedward.backends.engines.native import _engine

    found = []
    for name in ("portable", "avx2", "avx512"):
        try:
            found.append(_engine.instruction_set(name))
        except ValueError:
            continue
    return found


def flat_gradients(module: nn.Module) -> Tensor:
    """The gradients that the last backward pass left, in the layout of the flat vector."""
    parts = []
    for parameter in module.parameters():
        assert parameter.grad is not None
        gradient = parameter.grad
        parts.append((gradient.permute(0, 2, 3, 1) if gradient.ndim == 4 else gradient).flatten())
    return torch.cat(parts)


def gradients_of_examples(module: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """One row for each example, by autograd, in the precision of the module."""
    rows = []
    for i in range(len(x)):
        module.zero_grad(set_to_none=True)
        cross_entropy(module(x[i : i + 1]), y[i : i + 1]).backward()  # type: ignore[no-untyped-call]
        rows.append(flat_gradients(module))
    return torch.stack(rows)


def steepness(stack: Stack, x: Tensor, y: Tensor) -> Tensor:
    """By how much a rounded score may change each example's gradient, in parts of the rounding.

    An example that the model is sure of has a gradient that is nearly zero, as the difference of numbers
    that are not. Under another label it is as large as those are.
    """
    module = stack.double()
    own, other = (
        gradients_of_examples(module, x.double(), labels) for labels in (y, (y + 1) % stack.classes)
    )
    return torch.maximum(own.norm(dim=1), other.norm(dim=1))


@dataclass
class Kinks:
    """How near a pass came to a place where a ReLU or a largest-pool has no derivative.

    Nearer than rounding, two right implementations may fall to different sides. Exact zeros and ties are
    no such place: there is a rule for them. A normalisation that magnifies rounding is such a place.
    """

    nearest: float = math.inf

    @property
    def clear(self) -> bool:
        return self.nearest > CLEAR

    def saw(self, distances: Tensor) -> None:
        distances = distances[distances != 0]
        if distances.numel():
            self.nearest = min(self.nearest, float(distances.abs().min()))


def _hook(kinks: Kinks) -> Any:
    def saw(layer: nn.Module, inputs: tuple[Tensor]) -> None:
        (x,) = inputs
        if isinstance(layer, nn.ReLU):
            kinks.saw(x.detach())
        elif isinstance(layer, Residual):
            with torch.no_grad():
                kinks.saw(layer.path(x) + layer.shortcut(x))
        elif isinstance(layer, nn.GroupNorm):
            groups = x.detach().reshape(len(x), layer.num_groups, -1)
            if bool((groups.std(-1, correction=0) < SPREAD * groups.abs().amax(-1).clamp(min=1)).any()):
                kinks.nearest = 0.0
        elif isinstance(layer, nn.MaxPool2d):
            (kh, kw), (sh, sw), (ph, pw) = map(_pair, (layer.kernel_size, layer.stride, layer.padding))
            padded = pad(x.detach(), (pw, pw, ph, ph), value=-1e30)
            windows = padded.unfold(2, kh, sh).unfold(3, kw, sw).flatten(-2)
            if windows.shape[-1] > 1:
                first, second = windows.topk(2, dim=-1).values.unbind(-1)
                kinks.saw(first - second)

    return saw


@contextmanager
def watched(module: nn.Module) -> Iterator[Kinks]:
    """Watches every pass of a module for kinks."""
    kinks = Kinks()
    hooks = [layer.register_forward_pre_hook(_hook(kinks)) for layer in module.modules()]
    try:
        yield kinks
    finally:
        for hook in hooks:
            hook.remove()


def size(vector: Any) -> float:
    return float(np.linalg.norm(np.asarray(vector, dtype=np.float64)))


def same_bits(one: Any, other: Any) -> bool:
    return bool(np.array_equal(np.asarray(one).view(np.int32), np.asarray(other).view(np.int32)))


@dataclass(frozen=True)
class Training:
    """A trainer, its examples and their order."""

    stack: Stack
    sgd: SGD
    examples: Examples
    seed: int

    def native(self, engine: Any, bound: float = 0.0) -> Array:
        index = list(self.sgd.indices(len(self.examples), self.rng()))
        update: Array = engine.train(
            self.stack.start.numpy(),
            flat_inputs(self.examples).numpy(),
            self.examples.y.numpy(),
            np.concatenate(index),
            [len(batch) for batch in index],
            learning_rate=self.sgd.learning_rate,
            momentum=self.sgd.momentum,
            weight_decay=self.sgd.weight_decay,
            bound=bound,
        )
        return update

    def loop(self, trainer: LocalTrainer | None = None) -> Array:
        """The update of the generic path."""
        model = self.stack.flat()
        (trainer or self.sgd).train(model, self.examples, self.rng())
        return (model.parameters - self.stack.start).numpy()

    def exact(self, trainer: LocalTrainer | None = None) -> tuple[Array, bool]:
        """The update in double precision, and whether every pass kept clear of kinks."""
        model = flat_model(self.stack.double())
        examples = Examples(flat_inputs(self.examples).double(), self.examples.y)
        with watched(model.module) as kinks:
            (trainer or self.sgd).train(model, examples, self.rng())
        return (model.parameters - self.stack.start.double()).numpy(), kinks.clear

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)
