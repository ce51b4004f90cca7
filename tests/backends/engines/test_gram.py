from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from backends.engines.gram_jobs import by_gram, by_the_plain_loop, job_for, linear, some_examples
from fedward.backends.engines.choice import Engine
from fedward.backends.engines.gram import Gram
from fedward.backends.engines.gram_tables import KeptTables
from fedward.core.examples import Examples
from fedward.core.types import Job
from fedward.local import SGD
from support import tiny_sgd


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
    monkeypatch.setattr("fedward.backends.engines.gram._CACHED_BYTES", 6000)
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
