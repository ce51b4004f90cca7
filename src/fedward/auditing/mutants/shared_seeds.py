"""A backend that trains two users with the same random numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedward.backends.engines.evaluation import Metrics
from fedward.backends.protocol import Backend
from fedward.core.examples import Examples
from fedward.core.types import Job, Row


@dataclass(frozen=True, eq=False, kw_only=True)
class SharedSeeds:
    """The same backend, but that one user's noise is that of another in the same round.

    Args:
      backend: that trains.
      users: the two of them, in order: the second has the seeds of the first.
    """

    backend: Backend
    users: tuple[int, int]

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        return self.backend.train(tuple(self._shared(jobs)))

    def _shared(self, jobs: Iterable[Job]) -> Iterator[Job]:
        first, second = self.users
        seeds: deque[int | None] = deque()
        for job in jobs:
            if job.user == first:
                seeds.append(job.seed)
            yield replace(job, seed=seeds.popleft()) if job.user == second and seeds else job

    def evaluate(self, parameters: Tensor, examples: Examples) -> Metrics:
        return self.backend.evaluate(parameters, examples)

    def evaluate_many(self, models: Iterable[Tensor], examples: Examples) -> Iterator[Metrics]:
        return self.backend.evaluate_many(models, examples)

    def confidences(self, models: Iterable[Tensor], examples: Examples) -> Iterator[NDArray[np.float32]]:
        return self.backend.confidences(models, examples)

    def close(self) -> None:
        self.backend.close()
