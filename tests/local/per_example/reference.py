"""Per-example gradients the slow way: batches of one through autograd, on a module that is not flat."""

from __future__ import annotations

import copy
import math

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedward.backends.engines.flat_model import flat_model
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Bounds
from fedward.local.per_example import clipped_sum, examine
from fedward.local.per_example.gradient_sum import _calls


def seeded(make: type[nn.Module] | nn.Module, *args: object, seed: int = 0, **options: object) -> nn.Module:
    """A layer whose parameters are all drawn at random; a bias of zero would hide mistakes."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = make if isinstance(make, nn.Module) else make(*args, **options)
        for parameter in module.parameters():
            nn.init.normal_(parameter, std=0.5)
    return module


def single_gradients(module: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """One row for each example, in the layout of the flat vector."""
    plain = copy.deepcopy(module)
    rows = []
    for i in range(len(x)):
        plain.zero_grad(set_to_none=True)
        cross_entropy(plain(x[i : i + 1]), y[i : i + 1]).backward()  # type: ignore[no-untyped-call]
        parts = []
        for parameter in plain.parameters():
            if parameter.requires_grad:
                gradient = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
                gradient = gradient.to_dense() if gradient.is_sparse else gradient
                parts.append((gradient.permute(0, 2, 3, 1) if gradient.ndim == 4 else gradient).flatten())
        rows.append(torch.cat(parts))
    return torch.stack(rows)


def reference(module: nn.Module, x: Tensor, y: Tensor, bounds: Bounds) -> Tensor:
    sizes = ParameterSpec.of(module).layer_sizes() if len(bounds) > 1 else None
    total = torch.zeros(1, dtype=torch.float64)
    for row in single_gradients(module, x, y).double():
        layers = torch.split(row, list(sizes)) if sizes else (row,)
        pairs = zip(layers, bounds, strict=True)
        total = total + torch.cat(
            [layer * min(1.0, bound / max(float(layer.norm()), 1e-300)) for layer, bound in pairs]
        )
    return total


def assert_equals_one_by_one(module: nn.Module, x: Tensor, y: Tensor, *, by_rules: bool = True) -> None:
    """Compares ``clipped_sum`` with the reference for bounds that clip all, some and none of the examples."""
    groups = len(ParameterSpec.of(module).layer_sizes())
    model = flat_model(copy.deepcopy(module))
    if len(x) == 0:
        for bounds in {(0.5,), (0.5,) * groups}:
            assert torch.equal(clipped_sum(model, x, y, bounds), torch.zeros_like(model.weights))
        return
    norms = single_gradients(module, x, y).norm(dim=1)
    layers = examine(model, x)
    assert bool(layers) == by_rules
    if by_rules:
        assert _calls(model, x, y, layers) is not None
    before = model.parameters.clone()
    for bound in (float(norms.min()) / 2, float(norms.median()), float(norms.max()) * 2):
        for bounds in {(bound,), (bound / math.sqrt(groups),) * groups}:
            found, wanted = clipped_sum(model, x, y, bounds), reference(module, x, y, bounds)
            assert found.shape == model.weights.shape
            error = float((found - wanted).norm())
            assert error <= 1e-5 * max(1.0, float(wanted.norm())), (bounds, error, float(wanted.norm()))
    assert torch.equal(before, model.parameters)


class Scored(nn.Module):
    """A layer, and scores for three classes made of what it gives."""

    def __init__(self, layer: nn.Module, like: Tensor) -> None:
        super().__init__()
        self.layer = layer
        with torch.no_grad():
            size = layer(like.new_zeros(1, *like.shape[1:])).flatten(1).shape[1]
        self.head = nn.Linear(size, 3, dtype=torch.float32)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.head(torch.tanh(self.layer(x)).flatten(1))
        return scores


def scored(layer: nn.Module, x: Tensor) -> nn.Module:
    return seeded(Scored(layer, x))


def batch(*shape: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=generator)
    return x, torch.randint(3, (shape[0],), generator=generator)
