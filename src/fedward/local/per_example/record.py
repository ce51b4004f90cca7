"""One forward and one backward pass that keep each layer's input and the gradient of its output."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

from fedward.core.parameters import FlatModule
from fedward.local.per_example.rule import Rule
from fedward.local.per_example.rules import RULES


@dataclass(frozen=True, eq=False, kw_only=True)
class Layer:
    """A module with trainable parameters of its own, and the rule for them.

    ``group`` counts the layers as ``ParameterSpec.layer_sizes`` does.
    """

    name: str
    module: nn.Module
    rule: Rule
    group: int


@dataclass(frozen=True, eq=False)
class Call:
    """A layer, what went into it, and the gradient of what came out; None if the loss does not see it."""

    layer: Layer
    a: Tensor
    g: Tensor | None


class Unsuited(Exception):
    """The rules would not be exact here: the examples have to be done one by one."""


def layers_of(model: FlatModule) -> tuple[Layer, ...]:
    """All layers with trainable parameters. Raises ``Unsuited`` if one has no rule or is not only itself."""
    prefixes = (name.rpartition(".")[0] for name in model.spec.names)
    groups = {prefix: group for group, (prefix, _) in enumerate(itertools.groupby(prefixes))}
    layers: list[Layer] = []
    seen: set[int] = set()
    for name, module in model.module.named_modules():
        own = {key: p for key, p in module._parameters.items() if p is not None and p.requires_grad}
        if not own:
            continue
        rule = RULES.get(type(module))
        if rule is None or not own.keys() <= {"weight", "bias"}:
            raise Unsuited(f"there is no rule for layer {name or 'of the model'}, {type(module).__name__}")
        if any(
            (
                module._forward_hooks,
                module._forward_pre_hooks,
                module._backward_hooks,
                module._backward_pre_hooks,
            )
        ):
            raise Unsuited(f"layer {name or 'of the model'} has hooks that may change what goes through it")
        if not seen.isdisjoint(map(id, own.values())):
            raise Unsuited(f"layer {name or 'of the model'} shares a parameter with another")
        seen.update(map(id, own.values()))
        layers.append(Layer(name=name, module=module, rule=rule, group=groups[name]))
    return tuple(layers)


def forward(model: FlatModule, layers: tuple[Layer, ...], x: Tensor) -> tuple[Tensor, _Recorder]:
    """The model's scores, and what its layers saw."""
    recorder = _Recorder(len(x))
    handles = [layer.module.register_forward_hook(recorder.hook(layer), with_kwargs=True) for layer in layers]
    try:
        return model(x), recorder
    finally:
        for handle in handles:
            handle.remove()


class _Recorder:
    """Collects the calls of a forward pass. What the rules cannot be exact for raises ``Unsuited`` later."""

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._kept: list[tuple[Layer, Tensor, int, GradientEdge]] = []
        self._why = ""

    def hook(self, layer: Layer) -> Any:
        def keep(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
            a = args[0] if len(args) == 1 and not kwargs else None
            if not isinstance(a, Tensor) or not isinstance(output, Tensor) or not output.requires_grad:
                self._why = f"layer {layer.name} was not called with one tensor"
            elif len(a) != self._batch or not layer.rule.fits(module, a):
                self._why = f"the rule does not fit layer {layer.name} on an input of shape {tuple(a.shape)}"
            else:
                # The edge, not the tensor: an in-place operation that follows would move the tensor on.
                self._kept.append((layer, a.detach(), a._version, get_gradient_edge(output)))

        return keep

    def backward(self, loss: Tensor) -> list[Call]:
        """The layers' calls with the gradients of their outputs; parameters get none."""
        if self._why:
            raise Unsuited(self._why)
        used = _uses(loss)
        edges = [edge for *_, edge in self._kept]
        gradients = torch.autograd.grad(loss, edges, allow_unused=True) if edges else ()
        calls, explained = [], Counter[int]()
        for (layer, a, version, _), g in zip(self._kept, gradients, strict=True):
            if a._version != version:
                raise Unsuited(f"the input of layer {layer.name} was changed in place")
            calls.append(Call(layer, a, g))
            if g is not None:
                explained.update(id(p) for p in layer.module.parameters(recurse=False) if p.requires_grad)
        # A layer called twice or a weight used by hand: then what a rule gives is not the whole gradient.
        if used != explained or any(count > 1 for count in used.values()):
            raise Unsuited("a parameter is used otherwise than by one call of its layer")
        return calls


def _uses(loss: Tensor) -> Counter[int]:
    """How often each trainable parameter enters the loss, by its id."""
    uses: Counter[int] = Counter()
    if loss.grad_fn is None:
        return uses
    seen: set[Node] = {loss.grad_fn}
    waiting = [loss.grad_fn]
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is None:
                continue
            if node.name().endswith("AccumulateGrad"):
                uses[id(node.variable)] += 1  # type: ignore[attr-defined]
            elif node not in seen:
                seen.add(node)
                waiting.append(node)
    return uses
