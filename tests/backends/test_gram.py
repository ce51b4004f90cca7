from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook
from torch.nn.utils import parametrizations

from fedward.backends.engine import Engine
from fedward.backends.gram import Gram, is_linear
from fedward.backends.gram_tables import KeptTables
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.core.randomness import from_local_seed
from fedward.core.types import Job
from fedward.local import SGD, FullGradient, ProjectedSGD
from support import tiny_sgd


def linear(
    features: int, classes: int, *, bias: bool = True, dtype: torch.dtype = torch.float32
) -> nn.Module:
    torch.manual_seed(features * 100 + classes)
    return nn.Sequential(nn.Flatten(), nn.Linear(features, classes, bias=bias)).to(dtype)


def some_examples(n: int, features: int, classes: int, dtype: torch.dtype = torch.float32) -> Examples:
    generator = torch.Generator().manual_seed(n)
    x = torch.randn(n, features, 1, generator=generator, dtype=dtype)
    return Examples(x, torch.randint(0, classes, (n,), generator=generator))


def job_for(module: nn.Module, trainer: Any, examples: Examples | None = None, seed: int = 5) -> Job:
    start = ParameterSpec.of(module).flatten(module)
    return Job(parameters=start, user=3, num_examples=1, trainer=trainer, seed=seed, examples=examples)


def by_the_plain_loop(module: nn.Module, job: Job, examples: Examples) -> Tensor:
    model = FlatModule(copy.deepcopy(module))
    job.trainer.train(model, examples, from_local_seed(job.seed))
    return model.parameters - job.parameters


def by_gram(module: nn.Module, job: Job, examples: Examples) -> Tensor:
    gram = Gram.of(module)
    assert gram is not None
    assert gram.suits(job, examples)
    (update,) = gram.train([job], [examples])
    return update


@settings(max_examples=50)
@given(
    n=st.integers(1, 40),
    features=st.integers(20, 60),
    classes=st.integers(2, 11),
    batch=st.integers(1, 45),
    length=st.one_of(
        st.builds(lambda e: {"epochs": e}, st.integers(1, 4)),
        st.builds(lambda s: {"epochs": None, "steps": s}, st.integers(1, 12)),
    ),
    momentum=st.sampled_from([0.0, 0.5, 0.9]),
    decay=st.sampled_from([0.0, 5e-4, 0.3]),
    bias=st.booleans(),
)
def test_it_takes_the_steps_of_the_plain_loop(
    n: int,
    features: int,
    classes: int,
    batch: int,
    length: dict[str, Any],
    momentum: float,
    decay: float,
    bias: bool,
) -> None:
    trainer = tiny_sgd(batch_size=batch, momentum=momentum, weight_decay=decay, **length)
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-10)):
        module = linear(features, classes, bias=bias, dtype=dtype)
        examples = some_examples(n, features, classes, dtype)
        job = job_for(module, trainer)
        expected = by_the_plain_loop(module, job, examples)
        found = by_gram(module, job, examples)
        assert found.dtype == dtype
        scale = float(expected.abs().max())
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance * max(scale, 1e-3))


@pytest.mark.parametrize("n", [50, 200])
def test_the_engine_uses_it_for_batches_that_are_most_of_a_user_and_for_small_ones(n: int) -> None:
    module, examples = linear(784, 10), some_examples(n, 784, 10)
    job = job_for(module, tiny_sgd(learning_rate=0.01, batch_size=40, epochs=10, momentum=0.9))
    row = Engine(module).train(job, examples)
    assert torch.equal(row.update, by_gram(module, job, examples))
    torch.testing.assert_close(row.update, by_the_plain_loop(module, job, examples), rtol=1e-4, atol=1e-6)


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
    module.weight.register_hook(lambda gradient: 2 * gradient)
    return module


def with_another_forward() -> nn.Module:
    module = nn.Linear(6, 3)
    module.forward = lambda x: 2 * nn.functional.linear(x, module.weight, module.bias)  # type: ignore[method-assign]
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


def test_an_update_is_the_same_bits_whatever_ran_before_and_whatever_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, trainer = linear(30, 4), tiny_sgd(batch_size=7, momentum=0.9, weight_decay=0.01, epochs=3)
    users = [some_examples(n, 30, 4) for n in (5, 17, 17, 40)]
    jobs = [job_for(module, trainer, seed=seed) for seed in range(4)]
    alone = [Engine(module).train(job, own).update for job, own in zip(jobs, users, strict=True)]
    engine = Engine(module)
    for _ in range(2):
        for job, own, expected in zip(jobs, users, alone, strict=True):
            assert torch.equal(engine.train(job, own).update, expected)
    monkeypatch.setattr("fedward.backends.gram._CACHED_BYTES", 6000)
    crowded = Engine(module)
    for i in (3, 0, 1, 2, 1, 0, 3):
        assert torch.equal(crowded.train(jobs[i], users[i]).update, alone[i])
    assert crowded._gram is not None
    assert len(crowded._gram._kept) < 4


def test_examples_that_were_changed_in_place_are_not_taken_for_what_they_were() -> None:
    module = linear(30, 4)
    array = np.random.default_rng(0).normal(size=(6, 30)).astype(np.float32)
    x, y = torch.from_numpy(array), torch.arange(6) % 4
    engine, job = Engine(module), job_for(module, tiny_sgd(epochs=2))

    def is_up_to_date() -> bool:
        fresh = Engine(module).train(job, Examples(x.clone(), y.clone())).update
        return torch.equal(engine.train(job, Examples(x, y)).update, fresh)

    assert is_up_to_date()
    x.mul_(0.5)
    assert is_up_to_date()
    array[[1, 2]] = array[[2, 1]]  # torch does not see it
    assert is_up_to_date()
    y[0] = 3
    assert is_up_to_date()


def test_examples_that_come_to_lie_at_the_same_place_are_not_confused() -> None:
    module, engine = linear(30, 4), Engine(linear(30, 4))
    job = job_for(module, tiny_sgd(epochs=2))
    for seed in range(20):
        torch.manual_seed(seed)
        examples = Examples(torch.randn(6, 30), torch.arange(6) % 4)  # freed in each turn
        assert torch.equal(engine.train(job, examples).update, by_gram(module, job, examples))


def test_a_version_that_an_adversary_brings_is_not_kept() -> None:
    module, examples = linear(30, 4), some_examples(6, 30, 4)
    engine = Engine(module)
    engine.train(job_for(module, tiny_sgd(), examples=examples), examples)
    assert engine._gram is not None
    assert len(engine._gram._kept) == 0
    engine.train(job_for(module, tiny_sgd()), examples)
    assert len(engine._gram._kept) == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("n", "trainer"), [(7, tiny_sgd(batch_size=7)), (9, SGD(learning_rate=0.1, batch_size=2, steps=1))]
)
def test_a_training_of_one_step_needs_no_products_of_examples_and_keeps_none(
    n: int, trainer: SGD, dtype: torch.dtype
) -> None:
    """So that it takes no longer, and no more memory, where users rarely come back."""
    module, examples = linear(20, 3, dtype=dtype), some_examples(n, 20, 3, dtype)
    gram, job = Gram.of(module), job_for(module, trainer)
    assert gram is not None
    assert gram.suits(job, examples)
    found = gram.train([job, job], [examples, examples])
    assert len(gram._kept) == 0
    assert torch.equal(found[0], found[1])
    right = by_the_plain_loop(module, job, examples)
    assert float((found[0] - right).abs().max()) < 1e-6
    gram.train([job_for(module, tiny_sgd(batch_size=n, epochs=2))], [examples])
    assert len(gram._kept) == 1


def test_one_step_on_examples_whose_products_overflow_is_as_finite_as_in_the_plain_loop() -> None:
    module, examples = linear(4, 2), some_examples(3, 4, 2)
    assert isinstance(examples.x, Tensor)
    huge = Examples(examples.x * 1e25, examples.y)
    job = job_for(module, tiny_sgd(batch_size=3))
    right = by_the_plain_loop(module, job, huge)
    assert bool(right.isfinite().all())
    torch.testing.assert_close(by_gram(module, job, huge), right)


def test_kept_tables_are_bounded_and_the_oldest_go_first() -> None:
    gram = Gram.of(linear(30, 4))
    assert gram is not None
    gram._kept = KeptTables(10_000)
    users = [some_examples(n, 30, 4) for n in (20, 21, 22, 23, 24)]
    for own in (*users[:3], users[0], *users[3:]):
        by = job_for(linear(30, 4), tiny_sgd())
        gram.train([by], [own])
        assert gram._kept._held == sum(t.num_bytes for t, *_ in gram._kept._tables.values()) <= 10_000
    held = {x.data_ptr() for _, x, *_ in gram._kept._tables.values()}
    assert users[4].x.data_ptr() in held  # type: ignore[union-attr]
    assert users[1].x.data_ptr() not in held  # type: ignore[union-attr]


def test_a_training_that_diverges_gives_a_row_that_is_not_finite() -> None:
    module, examples = linear(30, 4), some_examples(12, 30, 4)
    for batch in (3, 12):
        trainer = SGD(learning_rate=1e38, batch_size=batch, epochs=5, momentum=0.9)
        assert not bool(torch.isfinite(by_gram(module, job_for(module, trainer), examples)).all())
    job = job_for(module, tiny_sgd())
    broken = Job(
        parameters=torch.full_like(job.parameters, float("nan")),
        user=0,
        num_examples=12,
        trainer=tiny_sgd(),
        seed=1,
    )
    assert bool(torch.isnan(by_gram(module, broken, examples)).all())


def test_updates_can_be_changed_in_place() -> None:
    module, examples = linear(30, 4), some_examples(12, 30, 4)
    update = by_gram(module, job_for(module, tiny_sgd()), examples)
    update.mul_(2)
    assert not update.is_inference()
