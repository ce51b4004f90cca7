"""The backend that runs jobs of the native engine as threads of this process: nothing to start or send."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.backends.engines.allocator import keep_freed_memory
from fedward.backends.engines.choice import Choice, Engine
from fedward.backends.engines.evaluation import Metrics, confidences_of, metrics_of
from fedward.backends.engines.threads import cores
from fedward.backends.processes.chunks import Pace
from fedward.backends.processes.workers import Workers
from fedward.base.validate import InvalidValue, whole
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.types import Job, Row

SECONDS = 0.005
"""Seconds that a chunk of jobs should take: long against handing it over, short against a round."""

AHEAD = 4
"""Chunks for each thread that are made before their rows are asked for."""

READY_BYTES = 32 * 2**20
"""Bytes of rows that may lie ready; a chunk for each thread is made in any case."""

LEAST_EXAMPLES = 256
"""Fewer examples are not worth a thread of their own when a model is measured."""

_Given = TypeVar("_Given")
_Found = TypeVar("_Found")


class Threads:
    """Trains users in threads, one for each core unless told otherwise.

    The native engine lets go of Python's lock, so its jobs run side by side on data that lies in this
    process. Jobs that it does not cover go to ``rest``, whose processes start only then. Rows have the same
    bits as those of ``InProcess`` and ``Workers``, for any number of threads.

    Args:
      module: the model; it is copied.
      federation: whose users the jobs name.
      threads: how many; one for each core that this process may use if not given.
      rest: where all other jobs run; processes of their own, as many as threads, if not given.
      engine: ``auto`` or ``native``; see ``Engine``.

    >>> from fedward import SGD
    >>> federation = Federation.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 1], ["ann", "bob", "ann"])
    >>> model = nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> sgd = SGD(learning_rate=1.0, batch_size=1, epochs=1)
    >>> job = Job(parameters=torch.ones(18), user=1, num_examples=1, trainer=sgd, seed=7)
    >>> with Threads(model, federation, threads=2) as backend:
    ...     [round(float(row.update.norm()), 2) for row in backend.train([job] * 2)]
    [2.92, 2.92]
    """

    def __init__(
        self,
        module: nn.Module,
        federation: Federation,
        *,
        threads: int | None = None,
        rest: Workers | None = None,
        engine: Choice | None = None,
    ) -> None:
        keep_freed_memory()
        self._threads = whole("number of threads", cores() if threads is None else threads)
        self._federation = federation
        self._rest = rest or Workers(module, federation, workers=self._threads, engine=engine)
        # Decides which way a job goes, and measures what it is given; only this thread uses it.
        self._engine = Engine(module, engine=engine)
        self._own = threading.local()
        self._new_engine: Callable[[], Engine] = lambda: Engine(module, engine=engine, beside=self._engine)
        self._pool = ThreadPoolExecutor(self._threads, "fedward", initializer=self._begin)
        self._pace = Pace()
        size = sum(parameter.nbytes for parameter in module.parameters())
        self._rows_ahead = min(AHEAD * self._threads, max(self._threads, READY_BYTES // max(1, size)))
        self._closed = False

    @property
    def threads(self) -> int:
        """The largest number of threads."""
        return self._threads

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        """Rows in the order of the jobs, which are taken only a little ahead of them."""
        self._check_open()
        for native, some in itertools.groupby(jobs, self._is_native):
            if native:
                yield from self._rows(some)
            else:
                yield from self._rest.train(some)

    def evaluate(self, parameters: Tensor, examples: Examples) -> Metrics:
        """Accuracy and loss of a model."""
        (metrics,) = self.evaluate_many([parameters], examples)
        return metrics

    def evaluate_many(self, models: Iterable[Tensor], examples: Examples) -> Iterator[Metrics]:
        """Accuracy and loss of each model, in the order of the models."""
        return self._measured(
            models, examples, lambda scores: metrics_of([(scores, examples.y)]), self._rest.evaluate_many
        )

    def confidences(self, models: Iterable[Tensor], examples: Examples) -> Iterator[NDArray[np.float32]]:
        """The softmax of each model's scores, ``[examples, classes]``, in the order of the models."""
        return self._measured(
            models, examples, lambda scores: confidences_of([scores]), self._rest.confidences
        )

    def close(self) -> None:
        """Ends threads and processes; afterwards all work is refused."""
        self._closed = True
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._rest.close()

    def __enter__(self) -> Threads:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> None:
        torch.set_num_threads(1)
        self._own.engine = self._new_engine()

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidValue("threads must be open, but these were closed; make new ones")

    def _is_native(self, job: Job) -> bool:
        return self._engine.way(job, self._examples(job)) == "native"

    def _measures(self, model: Tensor, examples: Examples) -> bool:
        return self._engine.measures_natively(model, examples)

    def _examples(self, job: Job) -> Examples:
        return job.examples if job.examples is not None else self._federation.user(job.user)

    def _rows(self, jobs: Iterable[Job]) -> Iterator[Row]:
        unwanted = threading.Event()

        def work(chunk: list[Job]) -> tuple[list[Row], BaseException | None, float]:
            began = time.perf_counter()
            data = [self._examples(job) for job in chunk]
            rows, failure = self._own.engine.attempt(chunk, data, lambda place: not unwanted.is_set())
            return rows, failure, time.perf_counter() - began

        try:
            done = self._map_ahead(self._chunks(jobs), work, self._rows_ahead)
            for chunk, (rows, failure, seconds) in done:
                self._pace.measured(seconds, sum(map(_weight, chunk)))
                while rows:
                    yield rows.pop(0)  # nobody holds it here while the next are waited for
                if failure is not None:
                    raise failure
        finally:
            unwanted.set()

    def _chunks(self, jobs: Iterable[Job]) -> Iterator[list[Job]]:
        chunk: list[Job] = []
        weight = 0.0
        for job in jobs:
            chunk.append(job)
            weight += _weight(job)
            if self._pace.rate is None or self._pace.rate * weight >= SECONDS:
                yield chunk
                chunk, weight = [], 0.0
        if chunk:
            yield chunk

    def _measured(
        self,
        models: Iterable[Tensor],
        examples: Examples,
        measure: Callable[[Tensor], _Found],
        rest: Callable[[Iterable[Tensor], Examples], Iterator[_Found]],
    ) -> Iterator[_Found]:
        """What ``measure`` makes of each model's scores; ``rest`` does it for models that are not native."""
        self._check_open()
        for native, some in itertools.groupby(models, lambda model: self._measures(model, examples)):
            if native:
                yield from map(measure, self._scores(some, examples))
            else:
                yield from rest(some, examples)

    def _scores(self, models: Iterable[Tensor], examples: Examples) -> Iterator[Tensor]:
        parts = min(self._threads, -(-len(examples) // LEAST_EXAMPLES))
        cuts = [len(examples) * i // parts for i in range(parts + 1)]

        def work(piece: tuple[Tensor, int, int]) -> Tensor:
            found: Tensor = self._own.engine.scores(piece[0], examples, piece[1], piece[2])
            return found

        pieces = ((model, *span) for model in models for span in itertools.pairwise(cuts))
        found: list[Tensor] = []
        for _, scores in self._map_ahead(pieces, work, AHEAD * self._threads):
            found.append(scores)
            if len(found) == parts:
                yield torch.cat(found)
                found = []

    def _map_ahead(
        self, given: Iterable[_Given], work: Callable[[_Given], _Found], most: int
    ) -> Iterator[tuple[_Given, _Found]]:
        """Each item with what came out of it, in order, so many ahead of whoever asks."""
        ahead: deque[tuple[_Given, Future[Any]]] = deque()
        try:
            for item in given:
                ahead.append((item, self._pool.submit(work, item)))
                while len(ahead) > most or (ahead and ahead[0][1].done()):
                    yield _taken(ahead)
            while ahead:
                yield _taken(ahead)
        finally:
            for _, future in ahead:
                future.cancel()


def _taken(ahead: deque[tuple[_Given, Future[_Found]]]) -> tuple[_Given, _Found]:
    """The first of them. Nobody holds it here while whoever asked has it: it may be as large as a model."""
    first, future = ahead.popleft()
    return first, future.result()


def _weight(job: Job) -> int:
    return max(1, job.num_examples if job.examples is None else len(job.examples))
