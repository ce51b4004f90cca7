from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from fedward.backends.engines.flat_model import flat_model
from fedward.base.validate import InvalidValue
from fedward.local.per_example import clipped_sum, examine, gradient_sum
from fedward.models import build
from local.per_example.reference import (
    assert_equals_one_by_one,
    batch,
    reference,
    scored,
    seeded,
    single_gradients,
)


@pytest.fixture
def no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("the examples went one by one")

    monkeypatch.setattr(gradient_sum, "clipped_one_by_one", refuse)


def small(dtype: torch.dtype = torch.float32) -> nn.Module:
    return seeded(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).to(dtype))


@pytest.mark.parametrize("name", ["mnist_cnn", "digits_cnn", "mlp", "logistic_regression"])
def test_the_models_that_come_with_fedward_go_by_rules(name: str) -> None:
    shape = (1, 28, 28) if name == "mnist_cnn" else (1, 8, 8)
    x, y = batch(7, *shape)
    assert_equals_one_by_one(build(name, input_shape=shape, num_classes=10, seed=3), x, y)


def test_double_precision_is_exact() -> None:
    convolution = nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.Tanh(), nn.Flatten(2))
    head = nn.Sequential(nn.Linear(16, 5), nn.Flatten(), nn.LayerNorm(20), nn.Linear(20, 3))
    module = seeded(nn.Sequential(convolution, head).double())
    x, y = batch(6, 2, 6, 6)
    found = clipped_sum(flat_model(copy.deepcopy(module)), x.double(), y, (1e6,))
    torch.testing.assert_close(found, single_gradients(module, x.double(), y).sum(0), rtol=1e-11, atol=1e-12)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("shape", [(0, 4), (0, 7)])
def test_an_empty_batch_sums_to_zero(shape: tuple[int, int]) -> None:
    model = flat_model(small())
    x, y = torch.zeros(shape), torch.zeros(0, dtype=torch.int64)
    assert torch.equal(clipped_sum(model, x, y, (1.0,)), torch.zeros_like(model.weights))


@settings(max_examples=60)
@given(
    bound=st.floats(-6, 3).map(lambda exponent: 10.0**exponent),
    scale=st.floats(-3, 8).map(lambda exponent: 10.0**exponent),
    kind=st.sampled_from(["linear", "positions", "few positions", "convolution", "embedding", "norm"]),
    layers=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_one_example_never_exceeds_its_bound(
    bound: float, scale: float, kind: str, layers: bool, seed: int
) -> None:
    x, y = batch(1, 40, 12, seed=seed)
    made: dict[str, tuple[Any, Tensor]] = {
        "linear": (nn.Linear(12, 5), x[:, 0] * scale),
        "positions": (nn.Linear(12, 20), x * scale),
        "few positions": (nn.Linear(40, 40), x.transpose(1, 2)[:, :3] * scale),
        "convolution": (nn.Conv1d(40, 3, 3), x * scale),
        "embedding": (nn.Embedding(5, 4), (x[:, :, 0].abs() * 2).long().clamp(max=4)),
        "norm": (nn.LayerNorm(12), x * scale),
    }
    layer, x = made[kind]
    # Positions that nearly cancel make rounding as bad as it gets.
    head = scored(layer, x)
    model = flat_model(head)
    bounds = (bound, bound / 3) if layers else (bound,)
    assert examine(model, x)
    total = clipped_sum(model, x, y, bounds).double()
    parts = torch.split(total, list(model.spec.layer_sizes())) if layers else (total,)
    for part, limit in zip(parts, bounds, strict=True):
        assert float(part.norm()) <= limit


class Difference(nn.Module):
    """A layer on several positions, whose outputs are then all but taken from each other."""

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, width, bias=False)
        self.signs = 1.0 - 2.0 * (torch.arange(positions) % 2)
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = (self.layer(x) * self.signs.view(1, -1, 1)).sum(1)[:, :3] * 1e4
        return scores


@pytest.mark.parametrize(("positions", "width"), [(2, 40), (40, 4)], ids=["Gram", "product"])
@pytest.mark.parametrize("apart", [1e-2, 1e-4, 1e-6, 0.0])
@pytest.mark.usefixtures("no_fallback")
def test_positions_that_cancel_do_not_let_an_example_through(
    positions: int, width: int, apart: float
) -> None:
    for seed in range(5):
        x, y = batch(1, positions, width, seed=seed)
        x = x[:, :1] * 100 + apart * x
        model = flat_model(seeded(Difference, positions, width))
        for bound in (1e-3, 1.0):
            assert float(clipped_sum(model, x, y, (bound,)).double().norm()) <= bound


class Pooled(nn.Module):
    """A layer, and the sum of its outputs over all positions as scores."""

    def __init__(self, layer: nn.Module, axis: int) -> None:
        super().__init__()
        self.layer, self.axis = layer, axis

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.layer(x).flatten(2).sum(self.axis)
        return scores


@pytest.mark.parametrize("size", [7, 40, 150])
@pytest.mark.parametrize("kind", ["linear", "convolution", "embedding"])
@pytest.mark.usefixtures("no_fallback")
def test_many_equal_positions_that_all_round_the_same_way_stay_within_the_bound(kind: str, size: int) -> None:
    values = torch.rand(12, generator=torch.Generator().manual_seed(0)).tolist()
    y = torch.tensor([1])
    for value in values:
        blank = torch.full((1, 1, size, size), value)
        cases: dict[str, tuple[nn.Module, Tensor]] = {
            "linear": (Pooled(nn.Linear(1, 3), 1), blank.view(1, -1, 1)),
            "convolution": (Pooled(nn.Conv2d(1, 3, 3), 2), blank),
            "embedding": (Pooled(nn.Embedding(1, 3), 1), torch.zeros(1, size * size, dtype=torch.int64)),
        }
        module, x = cases[kind]
        model = flat_model(seeded(module))
        for bound in (value, 1.0):
            assert float(clipped_sum(model, x, y, (bound,)).double().norm()) <= bound


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e38])
@pytest.mark.parametrize("bounds", [(0.5,), (0.5, 0.2)], ids=["flat", "per layer"])
@pytest.mark.parametrize("where", [[0], [2, 5], list(range(6))])
@pytest.mark.usefixtures("no_fallback")
def test_an_example_without_a_finite_gradient_contributes_nothing(
    bad: float, bounds: tuple[float, ...], where: list[int]
) -> None:
    class Squared(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.square()  # 1e38 is finite, its square is not

    module = seeded(nn.Sequential(Squared(), nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)))
    x, y = batch(6, 4)
    x[where] = bad
    kept = torch.tensor([i for i in range(6) if i not in where], dtype=torch.int64)
    model = flat_model(copy.deepcopy(module))
    layers = examine(model, torch.ones(1, 4))
    found = clipped_sum(model, x, y, bounds, layers)
    wanted = reference(module, x[kept], y[kept], bounds) if len(kept) else torch.zeros(len(found))
    torch.testing.assert_close(found.double(), torch.as_tensor(wanted).double(), rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("no_fallback")
def test_a_huge_gradient_is_clipped_like_any_other() -> None:
    module = small()
    x, y = batch(3, 4)
    x[0] *= 1e25
    module[0].weight.data *= 1e-25  # type: ignore[index]
    model = flat_model(copy.deepcopy(module))
    found = clipped_sum(model, x, y, (0.5,), examine(model, x[1:]))
    wanted = reference(module, x, y, (0.5,))
    assert float((found - wanted).norm()) <= 1e-5


@pytest.mark.usefixtures("no_fallback")
def test_a_gradient_beyond_what_can_be_scaled_precisely_contributes_nothing() -> None:
    module = seeded(nn.Linear, 4, 3, bias=False)
    assert isinstance(module, nn.Linear)
    module.weight.data *= 1e-37
    model = flat_model(module)
    for seed in range(20):
        x, y = batch(1, 4, seed=seed)
        for size, bound in ((1e36, 1e-8), (1e37, 1e-6)):
            layers = examine(model, x)
            assert float(clipped_sum(model, x * size, y, (bound,), layers).double().norm()) <= bound
    assert not clipped_sum(model, x * 1e37, y, (1e-6,), layers).any()
    assert clipped_sum(model, x * 1e22, y, (1e-6,), layers).any()


@pytest.mark.usefixtures("no_fallback")
def test_layers_that_the_loss_does_not_see_and_frozen_ones_have_no_gradient() -> None:
    class Extra(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unseen, self.idle, self.frozen = (nn.Linear(4, 4) for _ in range(4))
            self.frozen.requires_grad_(False)

        def forward(self, x: Tensor) -> Tensor:
            self.unseen(x)
            scores: Tensor = torch.tanh(self.frozen(self.used(x)))
            return scores[:, :3]

    x, y = batch(5, 4)
    assert_equals_one_by_one(seeded(Extra), x, y)


@pytest.mark.usefixtures("no_fallback")
def test_residuals_and_inplace_sums_are_followed() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)

        def forward(self, x: Tensor) -> Tensor:
            h = self.first(x)
            h += x
            h = torch.tanh(h)
            g = self.second(h)
            g.mul_(2.0).add_(h)
            scores: Tensor = self.head(nn.functional.elu(g, inplace=True))
            return scores

    x, y = batch(5, 4)
    assert_equals_one_by_one(seeded(Residual), x, y)


@pytest.mark.usefixtures("no_fallback")
def test_dropout_is_no_obstacle() -> None:
    module = seeded(nn.Sequential(nn.Linear(4, 50), nn.Dropout(0.5), nn.Tanh(), nn.Linear(50, 3)))
    x, y = batch(5, 4)
    model = flat_model(module.train())
    with torch.random.fork_rng(devices=[]):
        sums = [clipped_sum(model, x, y, (0.5,)) for _ in range(2)]
    assert not torch.equal(*sums)
    assert all(float(total.norm()) <= 2.5 for total in sums)


@pytest.mark.parametrize(
    "bounds", [(), (1.0, 1.0, 1.0), (0.0,), (-1.0,), (math.nan,), (math.inf,), (1.0, 0.0)]
)
def test_bounds_that_do_not_fit_are_refused(bounds: tuple[float, ...]) -> None:
    x, y = batch(2, 4)
    with pytest.raises(InvalidValue, match="clip bound"):
        clipped_sum(flat_model(small()), x, y, bounds)


def test_it_never_holds_the_gradients_of_all_examples() -> None:
    largest = 0

    class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal largest
            result = function(*args, **(kwargs or {}))
            for tensor in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(tensor, Tensor):
                    largest = max(largest, tensor.untyped_storage().nbytes() // 4)
            return result

    module = build("mlp", input_shape=(1, 28, 28), num_classes=10, seed=1)
    x, y = batch(50, 1, 28, 28)
    model = flat_model(module)
    with Watch():  # type: ignore[no-untyped-call]
        clipped_sum(model, x, y, (1.0,))
    # The sum itself is in double precision: twice as many.
    assert len(model.weights) <= largest <= 2 * len(model.weights)


def _image() -> nn.Module:
    convolution = nn.Sequential(nn.Conv2d(2, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.Flatten())
    return seeded(nn.Sequential(convolution, nn.Linear(8 * 36, 3)))


def _text() -> nn.Module:
    return seeded(nn.Sequential(nn.Embedding(7, 5), nn.LayerNorm(5), nn.Flatten(), nn.Linear(20, 3)))


@pytest.mark.parametrize("make", [small, _image, _text])
@pytest.mark.parametrize("count", [2, 17, 250, 2000])
@pytest.mark.parametrize("bound", [0.37, 1e-3])
def test_one_of_many_equal_examples_moves_the_sum_by_no_more_than_its_bound(
    make: Any, count: int, bound: float
) -> None:
    # Equal examples round alike, so what each of them loses or gains adds up: the worst case for a sum.
    one = {small: batch(1, 4)[0], _image: batch(1, 2, 6, 6)[0], _text: torch.tensor([[1, 2, 2, 6]])}[make]
    model = flat_model(make())
    x, y = torch.cat([one] * count), torch.zeros(count, dtype=torch.int64)
    moved = clipped_sum(model, x, y, (bound,)) - clipped_sum(model, x[1:], y[1:], (bound,))
    assert 0.99 * bound < float(moved.norm()) <= bound


def test_an_infinite_gradient_contributes_nothing_however_large_the_bound() -> None:
    # Only the first layer's bias hears of 10 times 3e38: its gradient overflows, the scores do not.
    first, second, third = nn.Linear(1, 1), nn.Linear(1, 1, bias=False), nn.Linear(1, 2, bias=False)
    first.weight.requires_grad = False
    with torch.no_grad():
        first.bias.zero_()
        second.weight.fill_(3e38)
        third.weight.copy_(torch.tensor([[10.0], [-10.0]]))
    model = flat_model(nn.Sequential(first, second, third))
    found = clipped_sum(model, torch.zeros(2, 1), torch.tensor([0, 1]), (1e300,))
    assert found.tolist() == [0.0] * len(model.weights)
