from __future__ import annotations

import gc
import itertools
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cloudpickle
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fedward.backends import InProcess, worker_pool
from fedward.backends.worker_pool import AHEAD
from fedward.backends.workers import Workers
from fedward.core.examples import Examples, Ragged
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.core.types import Job, LocalTrainer, Row
from fedward.core.validate import InvalidType, InvalidValue
from fedward.local import DPSGD
from support import tiny_federation, tiny_model, tiny_pictures, tiny_sgd

# Worker processes cannot import a test file by its name.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

DP = DPSGD(
    learning_rate=0.1, probability=0.5, expected_batch=3, steps=2, noise_multiplier=1.0, clip_bound=0.5
)


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.out = nn.Linear(6, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.out(self.embedding(tokens).mean(1))
        return scores


def seeded(make: Any) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        module: nn.Module = make()
        return module


def pictures_model() -> nn.Module:
    return seeded(
        lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(16, 3))
    )


def texts() -> Federation:
    rng = np.random.default_rng(0)
    several = [rng.integers(1, 20, size=rng.integers(1, 9)) for _ in range(40)]
    test = Examples(Ragged.from_sequences(several[:9]), torch.arange(9) % 2)
    return Federation.from_arrays(
        Ragged.from_sequences(several), np.arange(40) % 2, np.arange(40) % 10, test=test
    )


def start(module: nn.Module) -> Tensor:
    return ParameterSpec.of(module).flatten(module)


def job(parameters: Tensor, user: int, trainer: LocalTrainer, **changes: Any) -> Job:
    made = Job(parameters=parameters, user=user, num_examples=5, trainer=trainer, seed=2**100 + user)
    return replace(made, **changes)


PICTURES, TEXTS, TINY = tiny_pictures(), texts(), tiny_federation()
MODELS = {"pictures": pictures_model(), "texts": seeded(Words), "tiny": tiny_model()}
FEDERATIONS = {"pictures": PICTURES, "texts": TEXTS, "tiny": TINY}
STARTS = {name: start(module) for name, module in MODELS.items()}


def jobs_of(name: str) -> list[Job]:
    """Users in no order, two models, several trainers, private jobs, and data that is not the users' own."""
    first = STARTS[name]
    second = first + 0.01
    poisoned = FEDERATIONS[name].examples.select(torch.tensor([3, 1, 4, 1, 5]))
    made = []
    for count, user in enumerate((3, 1, 7, 3, 0, 9, 2, 2, 8, 5, 6, 4)):
        parameters = second if count % 3 == 1 else first
        trainer = DP if count % 4 == 3 else tiny_sgd(epochs=1 + count % 2, momentum=0.5)
        bad = {"version": "bad", "examples": poisoned} if count % 5 == 2 else {}
        made.append(job(parameters, user, trainer, private=trainer is DP, **bad))
    return made


def same(a: list[Row], b: list[Row]) -> bool:
    return len(a) == len(b) and all(
        x.user == y.user
        and x.norm == y.norm
        and x.update.dtype == y.update.dtype
        and torch.equal(x.update, y.update)
        for x, y in zip(a, b, strict=True)
    )


@pytest.fixture(scope="module")
def expected() -> dict[str, list[Row]]:
    return {name: list(InProcess(MODELS[name], FEDERATIONS[name]).train(jobs_of(name))) for name in MODELS}


@pytest.fixture(scope="module")
def backend() -> Iterator[Workers]:
    with Workers(MODELS["pictures"], PICTURES, workers=2) as made:
        yield made


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
    assert not bool((PICTURES.user(11).x == 7.0).all())
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


def test_a_call_may_be_made_of_the_results_of_another(backend: Workers) -> None:
    here, test = InProcess(MODELS["pictures"], PICTURES), PICTURES.test
    assert test is not None

    def models(backend: Any) -> Iterator[Tensor]:
        for row in backend.train(jobs_of("pictures")):
            backend.evaluate(STARTS["pictures"], test)
            yield STARTS["pictures"] + row.update

    found = list(backend.confidences(models(backend), test))
    right = list(here.confidences(models(here), test))
    assert all(np.array_equal(a, b) for a, b in zip(found, right, strict=True))


def finish_a_chunk(backend: Workers) -> None:
    """Waits until every worker that has something to do has something to say, and could be given more."""
    end = time.monotonic() + 600
    while not all(not each.held or each.connection.poll() for each in backend._pool._processes):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.001)


def test_an_endless_iterable_of_jobs_is_taken_only_a_little_ahead(
    backend: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_chunk", 3)
    monkeypatch.setattr(
        worker_pool, "GLANCE", -1.0
    )  # at every row: all chances to go too far ahead are taken
    taken = []

    def jobs() -> Iterator[Job]:
        for number in itertools.count():
            taken.append(number)
            yield job(STARTS["pictures"], number % 12, tiny_sgd(), seed=number)

    rows = backend.train(jobs())
    for consumed in range(1, 30):
        assert next(rows).user == (consumed - 1) % 12
        finish_a_chunk(backend)
        # Those ahead, the chunk that is being given out, and one that is being made.
        assert len(taken) <= consumed + 3 * (AHEAD * 2 + 2)
    del rows


def test_rows_of_an_abandoned_call_are_never_taken_for_new_ones(
    backend: Workers, expected: dict[str, list[Row]], monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [job(STARTS["pictures"] * 2, user, tiny_sgd()) for user in range(12)] * 5
    for chunk, consumed in itertools.product((1, 4, None), (1, 2, 7)):
        monkeypatch.setattr(backend, "_chunk", chunk)
        abandoned = backend.train(others)
        for _ in range(consumed):
            next(abandoned)
        if consumed == 2:
            abandoned.close()  # type: ignore[attr-defined]
        elif consumed == 7:
            del abandoned
            gc.collect()
        assert same(list(backend.train(jobs_of("pictures"))), expected["pictures"])


def test_an_error_of_the_consumer_leaves_the_backend_usable(
    backend: Workers, expected: dict[str, list[Row]]
) -> None:
    def consume() -> None:
        for row in backend.train(jobs_of("pictures")):
            row.user // 0

    with pytest.raises(ZeroDivisionError):
        consume()
    assert same(list(backend.train(jobs_of("pictures"))), expected["pictures"])


def test_an_error_of_the_jobs_is_raised_after_the_rows_before_it(
    backend: Workers, expected: dict[str, list[Row]]
) -> None:
    def broken() -> Iterator[Job]:
        yield from jobs_of("pictures")[:5]
        raise KeyError("no more jobs")

    rows = backend.train(broken())
    assert same([next(rows) for _ in range(5)], expected["pictures"][:5])
    with pytest.raises(KeyError, match="no more jobs"):
        next(rows)
    assert same(list(backend.train(jobs_of("pictures"))), expected["pictures"])


def test_no_jobs_give_no_rows(backend: Workers) -> None:
    assert list(backend.train([])) == []
    assert PICTURES.test is not None
    assert list(backend.confidences([], PICTURES.test)) == []


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


def test_work_after_closing_is_refused() -> None:
    assert TINY.test is not None
    backend = Workers(MODELS["tiny"], TINY, workers=1)
    rows = backend.train([job(STARTS["tiny"], 1, tiny_sgd())])
    backend.close()
    backend.close()
    for use in (
        lambda: next(rows),
        lambda: backend.train([]),
        lambda: backend.confidences([], TINY.test),
        lambda: backend.evaluate(STARTS["tiny"], TINY.test),
        lambda: backend.__enter__(),
    ):
        with pytest.raises(InvalidValue, match="workers must be open"):
            use()
