"""Calls of worker processes that are nested, endless, abandoned or broken off."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from backends.processes.worker_jobs import MODELS, PICTURES, STARTS, TINY, job, jobs_of, same
from fedward.backends import InProcess
from fedward.backends.processes import worker_pool
from fedward.backends.processes.worker_pool import AHEAD
from fedward.backends.processes.workers import Workers
from fedward.base.validate import InvalidValue
from fedward.core.types import Job, Row
from support import tiny_sgd


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
