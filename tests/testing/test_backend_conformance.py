from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedward.backends import InProcess
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.types import Job, Row
from fedward.testing import check_backend
from testing.caught import caught


class TurnsThemRound(InProcess):
    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        return iter(list(super().train(list(jobs)[:20_002]))[::-1])


class DependsOnItsNeighbours(InProcess):
    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        for place, row in enumerate(super().train(jobs)):
            yield row if place == 0 or row.update is None else Row(row.user, row.update * 1.0001)


class TakesEverything(InProcess):
    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        return super().train(list(jobs))


class TrainsOnTheUsersOwn(InProcess):
    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        from dataclasses import replace

        return super().train(replace(job, examples=None, version="") for job in jobs)


class HidesFailures(InProcess):
    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        for job in jobs:
            try:
                yield from super().train([job])
            except TrainingFailed:
                yield Row(job.user, None)


class HasAnOpinion(InProcess):
    def confidences(self, models: Iterable[Tensor], examples: Examples) -> Iterator[NDArray[np.float32]]:
        for model in models:
            if not bool(torch.isfinite(model).all()):
                yield np.tile(np.array([1, 0], dtype=np.float32), (len(examples), 1))
            else:
                yield from super().confidences([model], examples)


class MeasuresHalf(InProcess):
    def evaluate_many(self, models: Iterable[Tensor], examples: Examples) -> Iterator[Any]:
        return super().evaluate_many(models, examples.span(0, len(examples) // 2))


class ClosesOnce(InProcess):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (TurnsThemRound, "were answered in the order [3, 0, 2, 1, 4, 0, 3]"),
        (DependsOnItsNeighbours, "the update of user 0 is"),
        (TakesEverything, "20,001 jobs were taken for 10 rows"),
        (TrainsOnTheUsersOwn, "a job with examples of its own was trained on others"),
        (HidesFailures, "a job that fails was no error"),
        (HasAnOpinion, "a model of NaN has the confidences [1, 0, 1, 0, ...]"),
        (MeasuresHalf, "models were measured as"),
    ],
)
def test_a_broken_backend_is_caught(kind: Any, fault: str) -> None:
    message = caught(check_backend, kind)
    assert fault in message
    assert message.startswith(kind.__name__)


def test_a_backend_that_closes_once_only_is_caught() -> None:
    with pytest.raises((AssertionError, RuntimeError), match="closed already"):
        check_backend(ClosesOnce)


def test_a_backend_that_must_know_all_jobs_says_so() -> None:
    (skipped,) = check_backend(TakesEverything, streams=False).skipped
    assert skipped.reason == "it must know all jobs first (streams=False)"
