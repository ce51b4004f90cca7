"""A backend for several trainings that go through their rounds together: equal jobs run once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from fedward.backends.protocol import Backend
from fedward.core.types import Job, Row
from fedward.lockstep.row_store import RowStore
from fedward.lockstep.sharing import Keys, SharedRows


class SharedJobs:
    """Keeps the rows of one round for the trainings that come to it next.

    Trainings on the same data begin with the same model, so those that differ in noise, clipping, defence or
    attackers want the same local trainings in their first round, and in every further one until their models
    part. Jobs that draw noise of their own are never shared.

    Guarantee: every training comes to the same bits as by itself.

    Args:
      backend: runs the jobs.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._rows = RowStore()
        self._keeps = True
        self._asked_before = self._run_before = 0
        self.asked = self.run = 0
        self.seconds = 0.0  # that were waited for rows
        # Models are measured by the backend itself.
        self.evaluate, self.evaluate_many = backend.evaluate, backend.evaluate_many
        self.confidences = backend.confidences

    def next_round(self, trainings: int) -> None:
        """So many trainings come to a round that none of them has had; rows of the last one are let go of."""
        shared = self.asked - self._asked_before > self.run - self._run_before
        # Models that have parted do not meet again: then no row is worth keeping.
        self._keeps = trainings > 1 and (shared or self.asked == 0)
        self._asked_before, self._run_before = self.asked, self.run
        self._rows.clear()

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        """The rows of one training, in the order of its jobs."""
        kept = self._rows if self._keeps else None
        rows = SharedRows(
            self._backend, [list(jobs)], Keys(), held=RowStore(), kept=kept, arrived=self._count
        )
        arriving = rows.of(0)
        while True:
            begun = time.perf_counter()
            row = next(arriving, None)
            self.seconds += time.perf_counter() - begun
            if row is None:
                return
            self.asked += 1
            yield row

    def _count(self) -> None:
        self.run += 1

    def close(self) -> None:
        """The backend is closed by whoever opened it."""
