from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fedward.backends import InProcess
from fedward.backends.processes.workers import Workers
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.core.types import Job, LocalTrainer, Row
from processes import alive, until
from support import tiny_federation, tiny_sgd

# Worker processes cannot import a test file by its name.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

FEDERATION = tiny_federation()
MODEL = nn.Linear(3, 2)  # the engine has a way of its own for linear models
START = ParameterSpec.of(MODEL).flatten(MODEL)


class Trainer:
    """Does what it is told with the model."""

    def __init__(self, act: Callable[[FlatModule], Any]) -> None:
        self._act = act

    def at_round(self, round: int, bounds: Any) -> Trainer:
        return self

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        self._act(model)


def job(user: int, trainer: LocalTrainer | None = None, seed: int = 5, **others: Any) -> Job:
    trainer = trainer or tiny_sgd()
    return Job(parameters=START, user=user, num_examples=5, trainer=trainer, seed=seed, **others)


def same(a: list[Row], b: list[Row]) -> bool:
    pairs = zip(a, b, strict=True)
    return all(x.user == y.user and torch.equal(x.update, y.update) for x, y in pairs)


@pytest.fixture(scope="module")
def backend() -> Iterator[Workers]:
    with Workers(MODEL, FEDERATION, workers=2) as made:
        yield made


def slowly(model: FlatModule) -> None:
    time.sleep(0.02)
    model.parameters.mul_(1.5)


def test_workers_killed_in_mid_round_are_replaced_and_the_rows_are_the_same(
    backend: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_chunk", 2)
    jobs = [job(user % 12, Trainer(slowly) if user % 2 else None, seed=user) for user in range(60)]
    expected = list(InProcess(MODEL, FEDERATION).train(jobs))
    rows, killed = [], []
    for row in backend.train(jobs):
        rows.append(row)
        if len(rows) == 20:
            killed.append(backend.pids[0])
            os.kill(killed[-1], signal.SIGKILL)
    assert same(rows, expected)
    assert not set(killed) & set(backend.pids)
    assert not any(map(alive, killed))


def test_a_worker_killed_between_two_calls_is_replaced(backend: Workers) -> None:
    jobs = [job(user) for user in range(12)]
    list(backend.train(jobs))
    killed = backend.pids[0]
    os.kill(killed, signal.SIGKILL)
    until(lambda: not alive(killed))
    assert same(list(backend.train(jobs)), list(InProcess(MODEL, FEDERATION).train(jobs)))
    assert killed not in backend.pids


def broken(why: str) -> Trainer:
    def act(model: FlatModule) -> None:
        raise ArithmeticError(why)

    return Trainer(act)


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_the_first_job_in_order_that_fails_is_named_after_the_rows_before_it(
    backend: Workers, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_chunk", chunk)
    slow = Trainer(lambda model: time.sleep(0.3))
    jobs = [job(1), job(2, slow), job(3), job(7, broken("first")), job(4), job(8, broken("second"))]
    rows: list[Row] = []
    with pytest.raises(TrainingFailed, match=r"user 7: .*ArithmeticError: first") as caught:
        rows.extend(iter(backend.train(iter(jobs))))
    assert caught.value.user == 7
    assert "in act" in "".join(caught.value.__notes__)
    seen = backend.train(iter(jobs))
    assert [next(seen).user for _ in range(3)] == [1, 2, 3]
    assert same(list(backend.train(jobs[:1])), list(InProcess(MODEL, FEDERATION).train(jobs[:1])))


@pytest.mark.parametrize("kind", [InvalidValue, InvalidType])
def test_a_refusal_stays_what_it_is(backend: Workers, kind: type[Exception]) -> None:
    def act(model: FlatModule) -> None:
        raise kind("batch norm must not be used")

    with pytest.raises(kind, match="batch norm must not be used") as caught:
        list(backend.train([job(1, Trainer(act))]))
    assert type(caught.value) is kind


def test_a_user_that_there_is_not_is_refused_as_in_one_process(backend: Workers) -> None:
    for each in (backend, InProcess(MODEL, FEDERATION)):
        with pytest.raises(InvalidValue, match="user must be from 0 to 11, got 12"):
            list(each.train([job(12)]))


def test_parameters_of_the_wrong_size_and_an_exit_are_failures_of_the_job(backend: Workers) -> None:
    wrong = Job(parameters=torch.zeros(3), user=6, num_examples=5, trainer=tiny_sgd(), seed=1)
    with pytest.raises(TrainingFailed, match=r"user 6: .*size of tensor"):
        list(backend.train([wrong]))
    with pytest.raises(TrainingFailed, match=r"user 6: .*SystemExit"):
        list(backend.train([job(6, Trainer(lambda model: sys.exit(3)))]))


def test_a_model_that_is_not_finite_gives_rows_that_say_so(backend: Workers) -> None:
    ruin = Trainer(lambda model: model.parameters.fill_(float("nan")))
    (row,) = backend.train([job(6, ruin)])
    assert row.update.isnan().all()


class Untested(nn.Module):
    """Can be trained and not be measured."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.error = error

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            raise self.error
        scores: Tensor = self.inner(x)
        return scores


@pytest.mark.parametrize(
    ("error", "expected", "words"),
    [
        (KeyError("mask"), TrainingFailed, "the model cannot be evaluated: KeyError: 'mask'"),
        (InvalidValue("token must be below 20, got 21"), InvalidValue, "token must be below 20, got 21"),
    ],
)
def test_a_model_that_cannot_be_evaluated_fails_in_the_same_words_everywhere(
    error: Exception, expected: type[Exception], words: str
) -> None:
    module, test = Untested(error), FEDERATION.test
    assert test is not None
    with Workers(module, FEDERATION, workers=1) as workers:
        for each in (InProcess(module, FEDERATION), workers):
            for use in (
                lambda each=each: each.evaluate(START, test),
                lambda each=each: list(each.confidences([START], test)),
            ):
                with pytest.raises(expected) as caught:
                    use()
                assert type(caught.value) is expected
                assert str(caught.value) == words
            list(each.train([job(1)]))


def test_a_job_that_kills_its_process_ends_training_with_the_user(
    backend: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_chunk", 4)
    deadly = Trainer(lambda model: os.kill(os.getpid(), signal.SIGKILL))
    jobs = [job(1), job(2), job(9, deadly), job(3)]
    rows = backend.train(jobs)
    assert same([next(rows), next(rows)], list(InProcess(MODEL, FEDERATION).train(jobs[:2])))
    message = r"user 9: the worker process died 3 times at this job \(signal 9: perhaps out of memory\)"
    with pytest.raises(TrainingFailed, match=message):
        next(rows)
    assert same(list(backend.train(jobs[:2])), list(InProcess(MODEL, FEDERATION).train(jobs[:2])))


def test_closing_ends_every_process_in_mid_training() -> None:
    backend = Workers(MODEL, FEDERATION, workers=1)
    rows = backend.train([job(1), job(2, Trainer(lambda model: time.sleep(3600)))])
    next(rows)
    (pid,) = backend.pids
    assert alive(pid)
    backend.close()
    assert not Path(f"/proc/{pid}").exists()  # not even one that nobody waited for
    with pytest.raises(InvalidValue, match="workers must be open"):
        next(rows)


def explode() -> None:
    raise RuntimeError("this model does not unpickle")


class Explosive(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)

    def __reduce__(self) -> Any:
        return explode, ()

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.inner(x)
        return scores


def test_a_worker_that_cannot_start_is_an_error_with_its_last_words() -> None:
    with Workers(Explosive(), FEDERATION, workers=1) as backend:
        rows = backend.train([job(1)])
        with pytest.raises(TrainingFailed, match=r"(?s)could not start.*this model does not unpickle"):
            next(rows)
        assert backend.pids == ()
