from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from fedward.base.validate import InvalidValue
from fedward.local.per_example import check_separable
from fedward.models import MODELS
from local.per_example.odd_modules import Recurrent, Tied, TimeFirst
from local.per_example.reference import batch
from models.model_examples import inputs, made


class Centred(nn.Module):
    """Takes the mean over the batch away, which nn has no layer for."""

    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(0)


class Averaged(nn.Module):
    """Divides by the size of the batch: the values of other examples do not matter, their number does."""

    def forward(self, x: Tensor) -> Tensor:
        return x / len(x)


class Counting(nn.Module):
    """Keeps a running mean of what it saw, as a buffer."""

    seen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.seen = 0.9 * self.seen + 0.1 * x.mean()
        return x


class Remembering(nn.Module):
    """Keeps the last batch where nobody looks."""

    def __init__(self) -> None:
        super().__init__()
        self.last: list[float] = [0.0]

    def forward(self, x: Tensor) -> Tensor:
        shift, self.last[0] = self.last[0], float(x.sum())
        return x + shift


def between(layer: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(4, 6), layer, nn.Linear(6, 3))


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (nn.BatchNorm1d(6), "GroupNorm or"),
        (nn.Softmax(dim=0), "depends on another"),
        (Centred(), "depends on another"),
        (Averaged(), "depends on another"),
        (nn.Sequential(nn.Tanh(), Centred()), "1.1 is Centred"),
        (nn.Sequential(nn.Dropout(0.3), Centred()), "1.1 is Centred"),
        (Counting(), "its seen changes with the examples"),
        (Remembering(), "the batch before"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_what_mixes_or_remembers_examples_is_refused(layer: nn.Module, why: str, size: int) -> None:
    with pytest.raises(InvalidValue, match="refused under differential privacy") as error:
        check_separable(between(layer), batch(size, 4)[0])
    assert why in str(error.value)
    assert "layer 1" in str(error.value) or isinstance(layer, Remembering)


def test_a_table_that_cuts_its_rows_to_the_tokens_it_sees_is_refused() -> None:
    module = nn.Sequential(nn.Embedding(5, 4, max_norm=0.1), nn.Flatten(), nn.Linear(12, 3))
    with pytest.raises(InvalidValue, match=r"layer 0 is Embedding.* its weight changes"):
        check_separable(module, torch.tensor([[1, 2, 3], [2, 3, 4]]))


@pytest.mark.parametrize("name", MODELS)
def test_the_models_that_come_with_fedward_pass(name: str) -> None:
    check_separable(made(name, num_classes=3), inputs(name, 2))


@pytest.mark.parametrize(
    "module",
    [
        between(nn.Dropout(0.5)),
        between(nn.LayerNorm(6)),
        between(nn.GroupNorm(2, 6)),
        between(nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(6, 6)), nn.RReLU())),
    ],
    ids=["dropout", "LayerNorm", "GroupNorm", "spectral norm"],
)
def test_layers_that_keep_to_their_example_pass(module: nn.Module) -> None:
    for size in (1, 2, 5):
        check_separable(module, batch(size, 4)[0])


@pytest.mark.parametrize("module", [Recurrent(nn.LSTM, batch_first=False), TimeFirst()])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_models_with_time_first_pass(module: nn.Module, size: int) -> None:
    check_separable(module, batch(size, 2, 4)[0])


def test_models_on_tokens_pass() -> None:
    check_separable(Tied(), torch.tensor([[1, 2, 0], [2, 1, 1]]))


def test_the_module_and_the_random_numbers_are_left_as_they_were() -> None:
    module = between(nn.Dropout(0.5))
    module[0].eval()  # type: ignore[index]
    x, _ = batch(2, 4)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    copied, generator = x.clone(), torch.get_rng_state()
    check_separable(module, x)
    assert torch.equal(generator, torch.get_rng_state())
    assert torch.equal(copied, x)
    assert [layer.training for layer in module] == [False, True, True]  # type: ignore[attr-defined]
    assert all(torch.equal(state[name], value) for name, value in module.state_dict().items())
    assert not any(layer._forward_hooks for layer in module.modules())


def test_a_model_of_one_layer_passes() -> None:
    check_separable(nn.Linear(4, 3), batch(3, 4)[0])
