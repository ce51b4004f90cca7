"""The sum of clipped per-example gradients, without ever holding them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedward.base.validate import InvalidValue, positive
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds
from fedward.local.per_example.one_by_one import clipped_one_by_one
from fedward.local.per_example.record import Call, Layer, Unsuited, forward, layers_of

# Measuring, scaling and adding up rounds a gradient, by up to 2^6 parts in 2^24 (float32); this pays for it.
_MARGIN = 1.0 - 2.0**-18
# A gradient so many times its bound can no longer be scaled down in float32 with full precision.
_MOST = 2.0**100


@runtime_checkable
class ClipsItself(Protocol):
    """A model with its own way to the sum of clipped gradients, under the guarantee of ``clipped_sum``.

    It keeps apart what it is given together: sequences of any lengths, whose gradients no padding reaches.
    """

    def clipped_sum(self, examples: Examples, index: Tensor, bounds: Bounds) -> Tensor: ...


def clipped_sum(
    model: FlatModule,
    x: Tensor,
    y: Tensor,
    bounds: Bounds,
    layers: tuple[Layer, ...] | None = None,
) -> Tensor:
    """The sum over a batch of the gradients of each example's cross-entropy, each of them clipped.

        Σ_i g_i · min(1, C / ‖g_i‖₂),    g_i = ∇ ℓ(w; x_i, y_i)

    Guarantee: each example's part has a norm of at most its bound, so one example added or removed moves the
    sum by at most sqrt(Σ_l C_l²). An example whose gradient is not finite (or 2^100 times its bound)
    contributes zero. It holds for models whose layers do not mix examples: see ``check_separable``.

    Norms are taken layer by layer from the layers' inputs and the gradients of their outputs; the sum is then
    one product with the output gradients rescaled. So no more than one layer's per-example gradients exist at
    a time, and for most layers none do. A model with a layer that has no rule, or that uses a parameter
    twice, goes one example at a time.

    Args:
      model: in training mode; its parameters are not changed.
      x, y: the batch; it may be empty.
      bounds: C for the whole gradient, or one for each layer (``spec.layer_sizes()`` says what a layer is).
      layers: what ``examine`` found; a caller with many batches of one kind asks once.

    Returns:
      A vector laid out as ``model.weights``, in double precision.

    >>> model = FlatModule(torch.nn.Linear(2, 2, bias=False))
    >>> x, y = torch.tensor([[3.0, 4.0], [0.3, 0.4]]), torch.tensor([0, 1])
    >>> float(clipped_sum(model, x[:1], y[:1], (0.5,)).norm()) <= 0.5
    True
    >>> clipped_sum(model, x[:0], y[:0], (0.5,))
    tensor([0., 0., 0., 0.], dtype=torch.float64)

    Goodfellow 2015; Li et al., Large language models can be strong differentially private learners, 2022;
    Bu et al., Differentially private optimization on large model at small cost, 2022.
    """
    _check_bounds(model, bounds)
    if len(x) == 0:
        return torch.zeros_like(model.weights, dtype=torch.float64)
    layers = examine(model, x) if layers is None else layers
    calls = _calls(model, x, y, layers) if layers else None
    if calls is None:
        return clipped_one_by_one(model, x, y, bounds)
    with torch.no_grad():
        scales = _scales(calls, len(x), bounds, model.weights.device)
        usable = torch.isfinite(scales).all(0)
        if bool(usable.all()):
            return _weigh_gradients(model, calls, scales)
    # Zero times infinity is not zero: once more, without the examples that have no usable gradient.
    return clipped_sum(model, x[usable], y[usable], bounds, layers)


def examine(model: FlatModule, x: Tensor) -> tuple[Layer, ...]:
    """The layers of a model if the rules are exact for it, found out on a batch like ``x``; otherwise none.

    Two passes of two and three examples see whether every layer has the batch first, in order: a layer that
    has time first would look the same whenever there are as many examples as steps.
    """
    try:
        layers = layers_of(model)
        for size in (2, 3):
            scores, recorder = forward(model, layers, torch.cat([x[:1]] * size))
            # Only example 1 is asked for, so only its rows may hear of it.
            for call in recorder.backward(torch.logsumexp(scores[1], 0)):
                if call.g is not None and bool(call.g[torch.arange(size, device=call.g.device) != 1].any()):
                    raise Unsuited(f"layer {call.layer.name} does not keep examples apart")
    except Unsuited:
        return ()
    return layers


def _calls(model: FlatModule, x: Tensor, y: Tensor, layers: tuple[Layer, ...]) -> list[Call] | None:
    try:
        scores, recorder = forward(model, layers, x)
        return recorder.backward(cross_entropy(scores, y, reduction="sum"))
    except Unsuited:
        return None


def _check_bounds(model: FlatModule, bounds: Bounds) -> None:
    groups = len(model.spec.layer_sizes())
    if len(bounds) not in (1, groups):
        raise InvalidValue(f"clip bounds must be 1 or {groups}, one for each layer, got {len(bounds)}")
    for bound in bounds:
        positive("clip bound", bound)


def _scales(calls: list[Call], batch: int, bounds: Bounds, device: torch.device) -> Tensor:
    """What each group of each example is multiplied by, [groups, batch]; NaN if its gradient is unusable."""
    net, gross = torch.zeros(2, len(bounds), batch, dtype=torch.float64, device=device)
    rounding = 0.0
    for call in calls:
        if call.g is not None:
            group = call.layer.group if len(bounds) > 1 else 0
            squares = call.layer.rule.norms(call.layer.module, call.a, call.g)
            net[group] += squares.net
            gross[group] += squares.gross
            rounding = 2 * torch.finfo(call.g.dtype).eps
    # The sums of a product round in proportion to what they would be without cancellation.
    norms = net.sqrt() + rounding * gross.sqrt()
    limits = torch.tensor(bounds, dtype=torch.float64, device=device).unsqueeze(1)
    scales = torch.where(norms <= limits, 1.0, limits / norms * _MARGIN)
    # An infinite norm is not below an infinite limit: it would be scaled by zero, to what is no number.
    usable = torch.isfinite(norms) & (norms <= limits * _MOST)
    return torch.where(usable, scales, torch.nan)


def _weigh_gradients(model: FlatModule, calls: list[Call], scales: Tensor) -> Tensor:
    # In double precision: in single, one of many examples could move their sum by more than its bound.
    total = torch.zeros_like(model.parameters, dtype=torch.float64)
    views = model.spec.views(total)
    for call in calls:
        if call.g is not None:
            weights = scales[call.layer.group if len(scales) > 1 else 0]
            sums = call.layer.rule.weighted_sum(call.layer.module, call.a, call.g, weights)
            for name, gradient in sums.items():
                views[f"{call.layer.name}.{name}" if call.layer.name else name].copy_(gradient)
    return total[: model.spec.trainable]
