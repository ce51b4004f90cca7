from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.local import ClassMeans


def update(x: torch.Tensor, y: torch.Tensor, *, bound: float = 1.0, classes: int = 3) -> torch.Tensor:
    """What training changes, as a matrix ``[classes, features]``."""
    head = FlatModule(nn.Sequential(nn.Flatten(), nn.Linear(x.shape[1], classes, bias=False)))
    start = head.parameters.clone()
    trainer = ClassMeans().at_round(0, (bound,))
    trainer.train(head, Examples(x, y), np.random.default_rng(0))
    return (head.parameters - start).reshape(classes, -1)


@given(seed=st.integers(0, 10_000), examples=st.integers(1, 20), bound=st.floats(0.01, 100.0))
def test_every_update_has_the_length_of_the_clip_bound_and_no_common_part(
    seed: int, examples: int, bound: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(examples, 5, generator=generator)
    y = torch.randint(0, 3, (examples,), generator=generator)
    found = update(x, y, bound=bound)
    assert float(found.norm()) == pytest.approx(bound, rel=1e-3)
    assert float(found.sum(dim=0).norm()) < 1e-3 * bound + 1e-5


def test_it_is_the_mean_of_each_class_less_what_all_classes_share() -> None:
    x = torch.tensor([[2.0, 0.0], [4.0, 0.0], [0.0, 6.0]])
    found = update(x, torch.tensor([0, 0, 2]))
    means = torch.tensor([[3.0, 0.0], [0.0, 0.0], [0.0, 6.0]])
    apart = means - means.mean(dim=0)
    assert torch.allclose(found, apart / apart.norm(), atol=1e-6)


def test_how_often_a_user_holds_an_example_changes_nothing() -> None:
    x, y = torch.eye(3), torch.arange(3)
    again = update(torch.cat([x, x[:1], x[:1]]), torch.cat([y, y[:1], y[:1]]))
    assert torch.allclose(update(x, y), again, atol=1e-6)


def test_a_user_whose_classes_nothing_tells_apart_sends_nothing() -> None:
    assert not bool(update(torch.zeros(4, 3), torch.tensor([0, 1, 2, 0])).any())


def test_a_bias_is_left_as_it_is() -> None:
    layer = nn.Linear(2, 2)
    head = FlatModule(layer)
    before = layer.bias.detach().clone()
    ClassMeans().at_round(0, (1.0,)).train(
        head, Examples(torch.eye(2), torch.arange(2)), np.random.default_rng(0)
    )
    assert torch.equal(layer.bias.detach(), before)


@pytest.mark.parametrize(
    "module",
    [nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)), nn.Sequential(nn.Linear(3, 2), nn.ReLU())],
    ids=["two layers", "a layer and more"],
)
def test_a_model_that_is_no_linear_head_is_refused(module: nn.Module) -> None:
    examples = Examples(torch.zeros(2, 3), torch.tensor([0, 1]))
    with pytest.raises(InvalidValue, match="need a model of one linear layer"):
        ClassMeans().at_round(0, (1.0,)).train(FlatModule(module), examples, np.random.default_rng(0))


def test_bounds_that_are_several_or_unknown_are_refused() -> None:
    for bounds in ((), (1.0, 2.0)):
        with pytest.raises(InvalidValue, match="need one clip bound that is known before the round"):
            ClassMeans().at_round(0, bounds)
