from __future__ import annotations

import os
import sys
from typing import Any

import cloudpickle
import numpy as np
import pytest
import torch
from torch import Tensor

from backends.processes.worker_jobs import FEDERATIONS, MODELS, PICTURES, STARTS, TINY, job, jobs_of, same
from fedward.backends import InProcess
from fedward.backends.processes.workers import Workers
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.parameters import FlatModule
from fedward.core.types import Row
from support import flat_inputs, tiny_model, tiny_sgd

# Worker processes cannot import a test file by its name.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.mark.parametrize("chunk", [1, 3, 1000, None])
def test_rows_have_the_same_bits_in_any_chunks(
    backend: Workers, chunk: int | None, expected: dict[str, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_chunk", chunk)
    assert same(list(backend.train(jobs_of("pictures"))), expected["pictures"])


@pytest.mark.parametrize(("name", "workers"), [("pictures", 3), ("texts", 1), ("tiny", 1)])
def test_rows_have_the_same_bits_for_any_number_of_workers(
    name: str, workers: int, expected: dict[str, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Workers(MODELS[name], FEDERATIONS[name], workers=workers) as backend:
        for chunk in (1, 3, None):
            monkeypatch.setattr(backend, "_chunk", chunk)
            assert same(list(backend.train(jobs_of(name))), expected[name])
        assert len(backend.pids) == workers
        test = FEDERATIONS[name].test
        assert test is not None
        here = InProcess(MODELS[name], FEDERATIONS[name])
        assert backend.evaluate(STARTS[name], test) == here.evaluate(STARTS[name], test)


def test_rows_can_be_kept_and_changed_by_whoever_got_them(
    backend: Workers, expected: dict[str, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_chunk", 1000)
    rows = list(backend.train(jobs_of("pictures")))
    rows[0].update.zero_()
    assert same(rows[1:], expected["pictures"][1:])
    # A row that is kept does not keep its whole chunk.
    assert all(row.update.untyped_storage().nbytes() == row.update.nbytes for row in rows)
    before = [row.update.clone() for row in rows]
    list(backend.train([job(STARTS["pictures"] * 2, user, tiny_sgd()) for user in range(12)]))
    assert all(torch.equal(row.update, kept) for row, kept in zip(rows, before, strict=True))


def test_parameters_that_were_written_to_are_not_taken_for_the_old_ones(backend: Workers) -> None:
    parameters = STARTS["pictures"].clone()
    here = InProcess(MODELS["pictures"], PICTURES)
    for _ in range(2):
        jobs = [job(parameters, user, tiny_sgd()) for user in (1, 2)]
        assert same(list(backend.train(jobs)), list(here.train(jobs)))
        parameters.mul_(1.1)


class Moody:
    """Is another trainer in every round, and the same object."""

    rate = 0.0

    def at_round(self, round: int, bounds: Any) -> Moody:
        self.rate = 0.1 * (round + 1)
        return self

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        tiny_sgd(learning_rate=self.rate).train(model, examples, rng)


def test_a_trainer_that_has_changed_is_not_taken_for_the_old_one(backend: Workers) -> None:
    here, trainer = InProcess(MODELS["pictures"], PICTURES), Moody()
    for round in range(3):
        jobs = [job(STARTS["pictures"], user, trainer.at_round(round, ())) for user in range(6)]
        assert same(list(backend.train(jobs)), list(here.train(jobs)))


def test_a_trainer_that_writes_into_its_data_harms_no_other_worker(backend: Workers) -> None:
    class Vandal:
        def at_round(self, round: int, bounds: Any) -> Vandal:
            return self

        def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> float:
            assert isinstance(examples.x, Tensor)
            examples.x.fill_(7.0)
            return float(os.getpid())

    (row,) = backend.train([job(STARTS["pictures"], 11, Vandal())])
    assert row.norm in backend.pids
    assert not bool((flat_inputs(PICTURES.user(11)) == 7.0).all())
    honest = [job(STARTS["pictures"], 11, tiny_sgd(), seed=s) for s in range(8)]
    right = [r.update for r in InProcess(MODELS["pictures"], PICTURES).train(honest)]
    found = [r.update for r in backend.train(honest)]
    assert any(torch.equal(a, b) for a, b in zip(found, right, strict=True))


def test_confidences_and_metrics_are_those_of_one_process(
    backend: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, test = InProcess(MODELS["pictures"], PICTURES), PICTURES.test
    assert test is not None
    unknown = PICTURES.examples.select(torch.arange(30))
    models = [STARTS["pictures"] * (1 + 0.1 * number) for number in range(9)]
    for examples in (test, unknown, unknown):
        for chunk in (1, 4, None):
            monkeypatch.setattr(backend, "_chunk", chunk)
            found = list(backend.confidences(iter(models), examples))
            right = list(here.confidences(models, examples))
            assert [a.dtype for a in found] == [np.float32] * 9
            assert all(np.array_equal(a, b) for a, b in zip(found, right, strict=True))
            measured = list(backend.evaluate_many(iter(models), examples))
            assert measured == list(here.evaluate_many(models, examples))
        assert backend.evaluate(models[2], examples) == here.evaluate(models[2], examples)


class Unsendable:
    def __reduce__(self) -> Any:
        raise TypeError("this cannot be pickled")

    def at_round(self, round: int, bounds: Any) -> Unsendable:
        return self

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        pass


def test_a_trainer_that_cannot_be_sent_is_named_after_the_rows_before_it(backend: Workers) -> None:
    rows = backend.train([job(STARTS["pictures"], 4, tiny_sgd()), job(STARTS["pictures"], 5, Unsendable())])
    assert next(rows).user == 4
    with pytest.raises(TrainingFailed, match=r"user 5: the trainer cannot be sent.*cannot be pickled"):
        next(rows)


def test_a_model_that_cannot_be_sent_is_refused_at_once() -> None:
    model = tiny_model()
    model.extra = Unsendable()  # type: ignore[assignment]
    with pytest.raises(InvalidType, match="can be pickled"):
        Workers(model, TINY)


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"workers": 1.5}, {"chunk": 0}, {"workers": True}])
def test_wrong_numbers_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="must be"):
        Workers(MODELS["tiny"], TINY, **wrong)


def test_there_is_a_worker_for_each_core_and_none_is_started_before_it_is_needed() -> None:
    with Workers(MODELS["tiny"], TINY) as backend:
        assert backend.workers == len(os.sched_getaffinity(0))
        assert backend.pids == ()
