from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from fedward.backends.engines.choice import Engine
from fedward.backends.engines.gram import Gram
from fedward.backends.engines.gram_walk import most_together
from fedward.backends.engines.threads import single_threaded
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from fedward.local import SGD, FullGradient
from support import tiny_sgd

TRAINERS = (
    tiny_sgd(batch_size=60, epochs=3, momentum=0.9, weight_decay=5e-4),
    tiny_sgd(batch_size=5, epochs=2, momentum=0.9, weight_decay=0.3),
    tiny_sgd(batch_size=7, epochs=None, steps=9, learning_rate=0.01),
    tiny_sgd(batch_size=1, epochs=1),
    SGD(learning_rate=1e30, batch_size=40, epochs=4),  # diverges
    FullGradient(),  # is not trained by the Gram form
)


def examples_of(n: int, features: int, classes: int, seed: int, dtype: torch.dtype) -> Examples:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, features, generator=generator, dtype=dtype)
    return Examples(x, torch.randint(0, classes, (n,), generator=generator))


def jobs_of(
    module: nn.Module, kinds: Sequence[tuple[int, int, int, int, bool]]
) -> tuple[list[Job], list[Examples]]:
    """Jobs of (examples, trainer, parameters, seed, poisoned)."""
    start = ParameterSpec.of(module).flatten(module)
    broken = torch.full_like(start, float("nan"))
    several = [start, start * 2, start.roll(1), broken]
    (linear,) = module.children()
    assert isinstance(linear, nn.Linear)
    data = [
        examples_of(n, linear.in_features, linear.out_features, seed, start.dtype)
        for n, _, _, seed, _ in kinds
    ]
    jobs = [
        Job(
            parameters=several[parameters],
            user=place,
            num_examples=n,
            trainer=TRAINERS[trainer],
            seed=seed,
            version="bad" if poisoned else "",
            examples=data[place] if poisoned else None,
        )
        for place, (n, trainer, parameters, seed, poisoned) in enumerate(kinds)
    ]
    return jobs, data


def model(features: int, classes: int, *, bias: bool = True, dtype: torch.dtype = torch.float32) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(features * 100 + classes)
        return nn.Sequential(nn.Linear(features, classes, bias=bias)).to(dtype)


def same_bits(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and one.numpy().tobytes() == other.numpy().tobytes()


KINDS = st.tuples(
    st.sampled_from([1, 3, 16, 17, 33]),
    st.integers(0, len(TRAINERS) - 1),
    st.sampled_from([0, 0, 0, 1, 2, 3]),
    st.integers(0, 50),
    st.booleans(),
)


@settings(max_examples=40)
@given(
    kinds=st.lists(KINDS, min_size=1, max_size=24),
    features=st.sampled_from([20, 37]),
    classes=st.sampled_from([1, 2, 3, 10]),
    bias=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_a_row_has_the_same_bits_whatever_is_trained_beside_it(
    kinds: list[tuple[int, int, int, int, bool]], features: int, classes: int, bias: bool, dtype: torch.dtype
) -> None:
    module = model(features, classes, bias=bias, dtype=dtype)
    jobs, data = jobs_of(module, kinds)
    engine = Engine(module)
    expected = [Engine(module).train(job, own) for job, own in zip(jobs, data, strict=True)]
    for _ in range(2):  # the second time with tables that are kept
        rows = engine.train_many(jobs, data)
        assert [row.user for row in rows] == list(range(len(jobs)))
        assert all(same_bits(row.update, alone.update) for row, alone in zip(rows, expected, strict=True))


@pytest.mark.parametrize(("n", "batch_size"), [(63, 60), (64, 10), (61, 20), (100, 100)])
@pytest.mark.parametrize("classes", [2, 10])
def test_groups_of_any_size_give_the_bits_of_one_job(n: int, batch_size: int, classes: int) -> None:
    module = model(200, classes)
    trainer = SGD(learning_rate=0.02, batch_size=batch_size, epochs=3, momentum=0.9, weight_decay=5e-4)
    gram = Gram.of(module)
    assert gram is not None
    start = ParameterSpec.of(module).flatten(module)
    data = [examples_of(n, 200, classes, seed, torch.float32) for seed in range(40)]
    jobs = [Job(parameters=start, user=i, num_examples=n, trainer=trainer, seed=i) for i in range(40)]
    with single_threaded():
        alone = [gram.train([job], [own])[0] for job, own in zip(jobs, data, strict=True)]
        for size in (2, 3, 5, 8, 13, 16, 31, 40):
            for first in (0, 40 - size):
                places = range(first, first + size)
                found = gram.train([jobs[i] for i in places], [data[i] for i in places])
                assert all(same_bits(update, alone[i]) for update, i in zip(found, places, strict=True))


def test_jobs_are_alike_if_trainer_and_number_of_examples_are() -> None:
    module = model(20, 3)
    kinds = [(16, 0, 0, 1, False), (17, 0, 0, 2, False), (16, 0, 1, 3, True), (16, 1, 0, 4, False)]
    jobs, data = jobs_of(module, [*kinds, (16, 5, 0, 5, False), (17, 0, 2, 6, False)])
    gram = Gram.of(module)
    assert gram is not None
    assert sorted(gram.groups(jobs, data)) == [(0, 2), (1, 5), (3,)]


def test_groups_are_bounded_by_what_fits_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    module = model(20, 3)
    jobs, data = jobs_of(module, [(16, 0, 0, seed, False) for seed in range(7)])
    gram = Gram.of(module)
    assert gram is not None
    assert list(gram.groups(jobs, data)) == [tuple(range(7))]
    monkeypatch.setattr("fedward.backends.engines.gram_walk._MOST_BYTES", 3 * 4 * 16 * (16 + 8 * 3))
    assert list(gram.groups(jobs, data)) == [(0, 1, 2), (3, 4, 5), (6,)]


def test_products_that_threads_may_share_are_taken_one_job_at_a_time() -> None:
    whole, parts = tiny_sgd(batch_size=500), tiny_sgd(batch_size=16)
    assert most_together(10, 160, whole, 4) > 1
    assert most_together(10, 176, whole, 4) == 1
    assert most_together(10, 176, parts, 4) > 1
    assert most_together(1, 16, whole, 4) == 1


def test_large_jobs_beside_small_ones_have_the_bits_that_they_have_alone() -> None:
    module = model(300, 10)
    trainer = SGD(learning_rate=0.02, batch_size=200, epochs=20, momentum=0.9)
    start = ParameterSpec.of(module).flatten(module)
    data = [examples_of(n, 300, 10, seed, torch.float32) for seed, n in enumerate((200, 40, 200, 40))]
    jobs = [
        Job(parameters=start, user=i, num_examples=len(own), trainer=trainer, seed=i)
        for i, own in enumerate(data)
    ]
    gram = Gram.of(module)
    assert gram is not None
    assert sorted(gram.groups(jobs, data)) == [(0,), (1, 3), (2,)]
    for row, job, own in zip(Engine(module).train_many(jobs, data), jobs, data, strict=True):
        assert same_bits(row.update, Engine(module).train(job, own).update)


def test_a_training_that_diverges_leaves_those_beside_it_finite() -> None:
    module = model(20, 3)
    jobs, data = jobs_of(module, [(16, 0, 3 if place % 2 else 0, place, False) for place in range(6)])
    rows = Engine(module).train_many(jobs, data)
    assert [bool(row.update.isfinite().all()) for row in rows] == [True, False] * 3


class Fails(FullGradient):
    def train(self, *_: Any) -> None:
        raise RuntimeError("no memory left")


def failing(job: Job) -> Job:
    return Job(
        parameters=job.parameters, user=job.user, num_examples=1, trainer=Fails(), seed=0, examples=None
    )


def test_the_first_job_in_order_that_fails_is_named_and_all_before_it_are_done() -> None:
    module = model(20, 3)
    # 0, 4 and 6 are alike, 3 and 5 fail, and 2 goes by the plain loop.
    kinds = [(16, 0), (17, 0), (16, 5), (16, 0), (16, 0), (17, 0), (16, 0)]
    jobs, data = jobs_of(module, [(n, trainer, 0, 7, False) for n, trainer in kinds])
    jobs[3], jobs[5] = failing(jobs[3]), failing(jobs[5])
    begun: list[int] = []

    def going(place: int) -> bool:
        begun.append(place)
        return True

    rows, failure = Engine(module).attempt(jobs, data, going)
    assert [row.user for row in rows] == [0, 1, 2]
    assert begun == [0, 1, 2, 3]
    assert isinstance(failure, TrainingFailed)
    assert failure.user == 3
    with pytest.raises(TrainingFailed, match="user 3: the model cannot be trained: RuntimeError: no memory"):
        Engine(module).train_many(jobs, data)


@pytest.mark.parametrize("bad", [{2}, {2, 6}, {6}])
def test_a_group_that_fails_is_trained_again_one_by_one(
    bad: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = model(20, 3)
    jobs, data = jobs_of(module, [(16 + place % 2, 0, 0, place, False) for place in range(8)])
    expected = Engine(module).train_many(jobs, data)
    sound = Gram.train

    def train(self: Gram, some: Sequence[Job], examples: Sequence[Examples]) -> list[Tensor]:
        if any(job.user in bad for job in some):
            raise MemoryError
        return sound(self, some, examples)

    monkeypatch.setattr(Gram, "train", train)
    rows, failure = Engine(module).attempt(jobs, data)
    assert isinstance(failure, TrainingFailed)
    assert failure.user == min(bad)
    assert len(rows) == min(bad)
    assert all(same_bits(row.update, alone.update) for row, alone in zip(rows, expected, strict=False))


def test_what_is_stopped_gives_the_rows_up_to_there() -> None:
    module = model(20, 3)
    jobs, data = jobs_of(module, [(n, 0, 0, 1, False) for n in (16, 17, 16, 3, 17)])
    rows, failure = Engine(module).attempt(jobs, data, lambda place: place < 3)
    assert [row.user for row in rows] == [0, 1, 2]
    assert failure is None
    rows, failure = Engine(module).attempt(jobs, data, lambda place: place < 1)
    assert [row.user for row in rows] == [0]
    assert Engine(module).attempt([], []) == ([], None)


def test_shuffles_of_a_group_are_each_jobs_own() -> None:
    module = model(20, 3)
    own = examples_of(17, 20, 3, 1, torch.float32)
    start = ParameterSpec.of(module).flatten(module)
    trainer = tiny_sgd(batch_size=4, epochs=100)  # more steps than are put together at once
    jobs = [Job(parameters=start, user=0, num_examples=17, trainer=trainer, seed=seed) for seed in (1, 2, 1)]
    one, two, three = (row.update for row in Engine(module).train_many(jobs, [own] * 3))
    assert same_bits(one, three)
    assert not np.allclose(one, two, rtol=1e-7, atol=0)
