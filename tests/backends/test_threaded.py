from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fedward import DPSGD, SGD
from fedward.backends import InProcess, Threads, Workers
from fedward.backends.engines.native import available
from fedward.base.validate import InvalidValue
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Bounds, Job, LocalTrainer, Row
from fedward.local import FullGradient, NoisyGradient, ProjectedSGD
from support import tiny_pictures, tiny_sgd

pytestmark = pytest.mark.skipif(not available(), reason="the native engine was not compiled")

PICTURES = tiny_pictures()
DP = DPSGD(
    learning_rate=0.1, probability=0.5, expected_batch=3, steps=2, noise_multiplier=1.0, clip_bound=0.5
)
TRAINERS: tuple[LocalTrainer, ...] = (
    tiny_sgd(epochs=2, momentum=0.5, weight_decay=0.01),
    ProjectedSGD(sgd=tiny_sgd(epochs=2)).at_round(0, (0.05,)),
    DP,
    replace(DP, per_layer=True),
    FullGradient(learning_rate=0.5),
    NoisyGradient(noise_multiplier=1.0, clip_bound=0.1),
)


class Own(SGD):
    """A trainer of a user's own, which the native engine cannot know."""

    def at_round(self, round: int, bounds: Bounds) -> SGD:
        return self


def model() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return nn.Sequential(
            nn.Conv2d(1, 5, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(20, 3)
        )


MODEL = model()
START = ParameterSpec.of(MODEL).flatten(MODEL)


def jobs(trainers: tuple[LocalTrainer, ...] = TRAINERS) -> list[Job]:
    users = (3, 1, 7, 3, 0, 9, 2, 2, 8, 5, 6, 4)
    return [
        Job(
            parameters=START + 0.01 * (place % 3),
            user=user,
            num_examples=len(PICTURES.user(user)),
            trainer=trainers[place % len(trainers)],
            seed=2**80 + user,
        )
        for place, user in enumerate(users)
    ]


def same(some: list[Row], others: list[Row]) -> bool:
    return len(some) == len(others) and all(
        a.user == b.user and a.norm == b.norm and torch.equal(a.update, b.update)
        for a, b in zip(some, others, strict=True)
    )


def opened(threads: int = 2, federation: Federation = PICTURES, module: nn.Module = MODEL) -> Threads:
    return Threads(module, federation, threads=threads, rest=Workers(module, federation, workers=1))


@pytest.fixture(scope="module")
def backend() -> Iterator[Threads]:
    with opened() as made:
        yield made


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_any_number_of_threads_gives_the_bits_of_one_process(threads: int) -> None:
    expected = list(InProcess(MODEL, PICTURES).train(jobs()))
    with opened(threads) as backend:
        for _ in range(3):
            assert same(list(backend.train(jobs())), expected)


def test_the_generic_path_agrees_within_rounding() -> None:
    native = list(InProcess(MODEL, PICTURES).train(jobs()))
    generic = list(InProcess(MODEL, PICTURES, engine="generic").train(jobs()))
    assert not same(native, generic)  # or this would compare an engine with itself
    for a, b in zip(native, generic, strict=True):
        assert torch.allclose(a.update, b.update, atol=1e-5)


def test_what_the_native_engine_does_not_cover_goes_to_processes_in_the_order_of_the_jobs() -> None:
    mixed = jobs((tiny_sgd(), Own(learning_rate=0.1, batch_size=2, epochs=1)))
    expected = list(InProcess(MODEL, PICTURES).train(mixed))
    with opened() as backend:
        assert same(list(backend.train(mixed)), expected)


def test_no_process_starts_for_what_threads_can_do(backend: Threads) -> None:
    rest = Workers(MODEL, PICTURES, workers=1)
    with Threads(MODEL, PICTURES, threads=2, rest=rest) as backend:
        list(backend.train(jobs()))
        assert PICTURES.test is not None
        backend.evaluate(START, PICTURES.test)
        assert rest.pids == ()


def test_models_are_measured_as_in_one_process(backend: Threads) -> None:
    models = [START + 0.1 * i for i in range(5)]
    many = PICTURES.examples.select(torch.arange(700) % len(PICTURES.examples))
    alone = InProcess(MODEL, PICTURES)
    assert list(backend.evaluate_many(models, many)) == list(alone.evaluate_many(models, many))
    assert backend.evaluate(models[2], many) == alone.evaluate(models[2], many)
    for a, b in zip(backend.confidences(models, many), alone.confidences(models, many), strict=True):
        assert np.array_equal(a, b)
    generic = InProcess(MODEL, PICTURES, engine="generic")
    for a, b in zip(backend.confidences(models, many), generic.confidences(models, many), strict=True):
        assert np.allclose(a, b, atol=1e-5)


def test_a_model_that_is_not_finite_is_measured_as_by_the_generic_path(backend: Threads) -> None:
    broken = torch.full_like(START, torch.nan)
    assert PICTURES.test is not None
    assert backend.evaluate(broken, PICTURES.test).accuracy == 0.0
    (found,) = backend.confidences([broken], PICTURES.test)
    assert np.all(found == np.float32(1 / 3))


def test_the_first_job_that_fails_ends_it_with_its_user(backend: Threads) -> None:
    bad = [replace(job, parameters=START[:-1]) if place >= 7 else job for place, job in enumerate(jobs())]
    rows = backend.train(bad)
    assert [next(rows).user for _ in range(7)] == [job.user for job in bad[:7]]
    with pytest.raises(TrainingFailed, match="user 2"):
        next(rows)


def test_rows_that_nobody_wants_any_more_are_not_waited_for(backend: Threads) -> None:
    def endless() -> Iterator[Job]:
        while True:
            yield from jobs()

    rows = backend.train(endless())
    assert next(rows).user == 3
    rows.close()  # type: ignore[attr-defined]
    assert same(list(backend.train(jobs())), list(InProcess(MODEL, PICTURES).train(jobs())))


def test_threads_end_with_the_backend_and_later_work_is_refused() -> None:
    backend = opened(4)
    list(backend.train(jobs()))
    own = set(backend._pool._threads)
    assert own
    backend.close()
    backend.close()
    assert not {thread for thread in threading.enumerate() if thread in own}
    with pytest.raises(InvalidValue, match="closed"):
        list(backend.train(jobs()))
    with pytest.raises(InvalidValue, match="closed"):
        backend.evaluate(START, PICTURES.examples)


def test_torch_has_as_many_threads_as_before(backend: Threads) -> None:
    before = torch.get_num_threads()
    for metrics in backend.evaluate_many([START, START], PICTURES.examples):
        assert torch.get_num_threads() == before
    for row in backend.train(jobs()):
        assert torch.get_num_threads() == before


@pytest.mark.parametrize("threads", [0, -1, 1.5])
def test_an_impossible_number_of_threads_is_refused(threads: float) -> None:
    with pytest.raises(InvalidValue, match="number of threads"):
        Threads(MODEL, PICTURES, threads=threads, rest=Workers(MODEL, PICTURES, workers=1))  # type: ignore[arg-type]


def test_noise_is_drawn_from_the_jobs_own_stream(backend: Threads) -> None:
    private = [job for job in jobs() if job.trainer is DP]
    others = [replace(job, seed=job.seed + 1) for job in private if job.seed is not None]
    assert len(others) == len(private)

    def updates(some: list[Job]) -> list[Tensor]:
        return [row.update for row in backend.train(some)]

    for a, b, c in zip(updates(private), updates(private), updates(others), strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)
