"""Which models, trainers and examples are trained by products, and which by the plain loop."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook
from torch.nn.utils import parametrizations

from backends.engines.gram_jobs import by_gram, by_the_plain_loop, job_for, linear, some_examples
from fedward.backends.engines.choice import Engine
from fedward.backends.engines.gram import Gram, is_linear
from fedward.core.examples import Examples
from fedward.core.parameters import ParameterSpec
from fedward.local import FullGradient, ProjectedSGD
from support import tiny_sgd


@pytest.mark.parametrize(
    "module",
    [
        nn.Linear(6, 3),
        nn.Linear(6, 3, bias=False),
        nn.Linear(6, 3).double(),
        nn.Sequential(nn.Linear(6, 3)),
        nn.Sequential(nn.Identity(), nn.Flatten(), nn.Linear(6, 3), nn.Identity(), nn.Flatten()),
    ],
)
def test_models_of_one_linear_layer_are_recognised(module: nn.Module) -> None:
    assert is_linear(module)
    dtype = ParameterSpec.of(module).dtype
    examples = Examples(torch.randn(5, 6, dtype=dtype), torch.arange(5) % 3)
    job = job_for(module, tiny_sgd())
    torch.testing.assert_close(
        by_gram(module, job, examples), by_the_plain_loop(module, job, examples), rtol=1e-4, atol=1e-6
    )


class Doubled(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


def frozen_bias() -> nn.Module:
    module = nn.Linear(6, 3)
    module.bias.requires_grad_(False)
    return module


def with_hook(method: str, *, of_the_whole: bool = False) -> nn.Module:
    module = nn.Sequential(nn.Linear(6, 3))
    getattr(module if of_the_whole else module[0], method)(lambda *_: None)
    return module


def with_tensor_hook() -> nn.Module:
    module = nn.Linear(6, 3)
    module.weight.register_hook(lambda gradient: 2 * gradient)  # type: ignore[no-untyped-call]
    return module


def with_another_forward() -> nn.Module:
    module = nn.Linear(6, 3)

    def forward(input: Tensor) -> Tensor:
        return 2 * nn.functional.linear(input, module.weight, module.bias)

    module.forward = forward  # type: ignore[method-assign]
    return module


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 3)),
        nn.Sequential(nn.Linear(6, 3), nn.ReLU()),
        nn.Sequential(nn.Dropout(), nn.Linear(6, 3)),
        nn.Sequential(nn.Flatten(0), nn.Linear(6, 3)),
        nn.Sequential(nn.Flatten()),
        nn.Sequential(nn.Sequential(nn.Linear(6, 3))),
        nn.Conv2d(1, 3, 2),
        nn.Linear(6, 3).half(),
        Doubled(6, 3),
        frozen_bias(),
        parametrizations.weight_norm(nn.Linear(6, 3)),
        with_hook("register_forward_hook"),
        with_hook("register_forward_pre_hook"),
        with_hook("register_forward_hook", of_the_whole=True),
        with_hook("register_full_backward_hook"),
        with_hook("register_full_backward_pre_hook"),
        with_tensor_hook(),
        with_another_forward(),
    ],
)
def test_every_other_model_is_left_to_the_plain_loop(module: nn.Module) -> None:
    assert Gram.of(module) is None


def test_a_hook_of_the_model_is_heard_by_the_engine() -> None:
    module = nn.Sequential(nn.Linear(6, 3))
    job, examples = job_for(module, tiny_sgd()), Examples(torch.randn(5, 6), torch.arange(5) % 3)
    usual = Engine(module).train(job, examples).update
    module[0].register_forward_hook(lambda layer, inputs, output: 3 * output)
    hooked = Engine(module).train(job, examples).update
    assert not torch.allclose(usual, hooked)
    torch.testing.assert_close(hooked, by_the_plain_loop(module, job, examples))


def test_other_trainers_and_examples_are_left_to_the_plain_loop() -> None:
    module = linear(6, 3)
    gram = Gram.of(module)
    assert gram is not None
    x, y = torch.randn(5, 6), torch.arange(5) % 3
    good = Examples(x, y)
    assert gram.suits(job_for(module, tiny_sgd()), good)
    for trainer in (ProjectedSGD(sgd=tiny_sgd()).at_round(0, (1.0,)), FullGradient()):
        assert not gram.suits(job_for(module, trainer), good)
    for examples in (
        Examples(x.double(), y),
        Examples(x[:, :5], y),
        Examples(x[:0], y[:0]),
        Examples(torch.arange(30).view(5, 6), y),
        Examples(x, y + 1),
        Examples(x, torch.full((5,), -100)),
        Examples(torch.randn(13, 6), torch.arange(13) % 3),  # more than twice as many examples as features
    ):
        assert not gram.suits(job_for(module, tiny_sgd()), examples)
    # Without a Flatten, an input of three dimensions has one score for each of its rows.
    plain = Gram.of(nn.Linear(6, 3))
    assert plain is not None
    assert not plain.suits(job_for(nn.Linear(6, 3), tiny_sgd()), Examples(x.view(5, 1, 6), y))
    handle = register_module_forward_hook(lambda *_: None)
    try:
        assert not gram.suits(job_for(module, tiny_sgd()), good)
    finally:
        handle.remove()


def test_products_that_cost_more_than_they_save_are_not_taken() -> None:
    module, examples = linear(400, 2), some_examples(300, 400, 2)
    gram = Gram.of(module)
    assert gram is not None
    assert not gram.suits(job_for(module, tiny_sgd(batch_size=300, epochs=1)), examples)
    assert gram.suits(job_for(module, tiny_sgd(batch_size=300, epochs=20)), examples)
