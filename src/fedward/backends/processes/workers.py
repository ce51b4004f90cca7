"""The backend that runs jobs in worker processes, for anything larger than a toy."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.backends.engines.bare_copy import bare_copy
from fedward.backends.engines.choice import Choice, choose_engine
from fedward.backends.engines.evaluation import Metrics
from fedward.backends.engines.switches import switches
from fedward.backends.engines.threads import cores
from fedward.backends.processes.chunks import Cutter, Pace, Sized
from fedward.backends.processes.shared_data import SharedData
from fedward.backends.processes.watchdog import Patience
from fedward.backends.processes.worker_pool import UNDER_WAY, Pool
from fedward.base.validate import InvalidType, InvalidValue, whole
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.core.types import Job, LocalTrainer, Row


class Workers:
    """Trains users in single-threaded processes, one for each core unless told otherwise.

    Rows have the same bits as those of ``InProcess``, for any number of workers and any chunk size. Processes
    start at the first use and stay; one that dies, is stopped or hangs is replaced and what it had is run
    again; of the latter a line in the log tells. Nothing is left behind, however this process ends: the
    workers end with it, and their data lies in memory without a name.
    One thread may use it at a time; calls within calls are fine.

    Args:
      module: the model; as it is now, later changes are not seen, nor are those of torch's switches.
      federation: whose examples all workers share; it must not be changed afterwards.
      workers: how many processes; one for each core that this process may use if not given.
      chunk: how many jobs go to a worker at once; as many as take about 50 ms if not given.
      also: more examples to share, for instance poisoned test sets. Others are sent when they are used.
      engine: ``auto``, ``native`` or ``generic``; see ``Engine``.
      patience: how long a worker may be still at a job before it is taken to hang.

    >>> import torch
    >>> from fedward import SGD
    >>> federation = Federation.from_arrays([[0.0], [1.0], [2.0]], [0, 1, 1], ["ann", "bob", "ann"])
    >>> job = Job(
    ...     parameters=torch.zeros(4),
    ...     user=1,
    ...     num_examples=1,
    ...     trainer=SGD(learning_rate=1.0, batch_size=1, epochs=1),
    ...     seed=7,
    ... )
    >>> with Workers(nn.Linear(1, 2), federation, workers=1) as backend:
    ...     [row.update.tolist() for row in backend.train([job])]
    [[-0.5, 0.5, -0.5, 0.5]]
    """

    def __init__(
        self,
        module: nn.Module,
        federation: Federation,
        *,
        workers: int | None = None,
        chunk: int | None = None,
        also: Sequence[Examples] = (),
        engine: Choice | None = None,
        patience: Patience | None = None,
    ) -> None:
        if os.name != "posix":
            raise InvalidValue(f"worker processes must run on Linux or macOS, got {os.name}; use InProcess")
        self._workers = whole("number of workers", cores() if workers is None else workers)
        self._chunk = None if chunk is None else whole("chunk", chunk)
        try:
            pickled = cloudpickle.dumps(_without_weights(module))  # the jobs bring them
        except Exception as error:
            raise InvalidType(f"the model must be one that can be pickled, got {error!r}") from error
        several = [federation.examples, federation.test, *also]
        shared = tuple({id(each): each for each in several if each is not None}.values())
        note = {
            "module": pickled,
            "offsets": federation.offsets.numpy(),
            "num_classes": federation.num_classes,
            "switches": switches(),
            "engine": choose_engine(engine),
        }
        self._pool = Pool(self._workers, shared, lambda: SharedData(shared, note), patience)
        self._paces = {task: Pace() for task in ("train", "evaluate", "confidences")}
        self._finalizer = weakref.finalize(self, self._pool.close)

    @property
    def workers(self) -> int:
        """The largest number of processes."""
        return self._workers

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that there are now."""
        return self._pool.pids

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        """Rows in the order of the jobs, which are taken only a little ahead of them.

        The first job in that order that fails ends it: ``TrainingFailed``, with the user.
        """
        self._pool.check_open()
        return self._rows(jobs)

    def evaluate(self, parameters: Tensor, examples: Examples) -> Metrics:
        """Accuracy and loss of a model."""
        (metrics,) = self.evaluate_many([parameters], examples)
        return metrics

    def evaluate_many(self, models: Iterable[Tensor], examples: Examples) -> Iterator[Metrics]:
        """Accuracy and loss of each model, in the order of the models."""
        self._pool.check_open()
        return self._metrics(models, examples)

    def confidences(self, models: Iterable[Tensor], examples: Examples) -> Iterator[NDArray[np.float32]]:
        """The softmax of each model's scores, ``[examples, classes]``, in the order of the models."""
        self._pool.check_open()
        return self._confidences(models, examples)

    def close(self) -> None:
        """Ends the processes; afterwards all work is refused."""
        self._pool.close()
        self._finalizer.detach()

    def __enter__(self) -> Workers:
        self._pool.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, jobs: Iterable[Job]) -> Iterator[Row]:
        trainers = _Trainers()

        def prepare(job: Job) -> Sized:
            count = job.num_examples if job.examples is None else len(job.examples)
            return Sized((job, trainers.pickle_trainer(job)), max(1, count), job.parameters.nbytes)

        pace = self._paces["train"]
        with closing(self._pool.run("train", self._cutter(jobs, prepare, pace), pace)) as results:
            for (job, _), norm, update in results:
                yield Row(job.user, update, norm)

    def _confidences(self, models: Iterable[Tensor], examples: Examples) -> Iterator[NDArray[np.float32]]:
        size = 0  # nobody knows the number of classes before the first has come

        def prepare(parameters: Tensor) -> Sized:
            return Sized(parameters, max(1, len(examples)), size)

        pace = self._paces["confidences"]
        cutter = self._cutter(models, prepare, pace)
        with closing(self._pool.run("confidences", cutter, pace, examples)) as results:
            for _, _, found in results:
                assert found is not None
                size = found.nbytes
                yield found.numpy()

    def _metrics(self, models: Iterable[Tensor], examples: Examples) -> Iterator[Metrics]:
        pace = self._paces["evaluate"]
        cutter = self._cutter(models, lambda model: Sized(model, max(1, len(examples)), 0), pace)
        with closing(self._pool.run("evaluate", cutter, pace, examples)) as results:
            for _, metrics, _ in results:
                yield Metrics(**metrics)

    def _cutter(self, items: Iterable[Any], prepare: Callable[[Any], Sized], pace: Pace) -> Cutter:
        return Cutter(items, prepare, pace=pace, fixed=self._chunk, parts=UNDER_WAY * self._workers)


class _Trainers:
    """Pickles each trainer once, as long as there are few: jobs of one round share theirs."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[LocalTrainer, bytes]] = {}

    def pickle_trainer(self, job: Job) -> bytes:
        known = self._known.get(id(job.trainer))
        if known is None:
            try:
                known = (job.trainer, cloudpickle.dumps(job.trainer))
            except Exception as error:
                why = f"the trainer cannot be sent to a worker process: {error!r}"
                raise TrainingFailed(why, user=job.user) from error
            if len(self._known) >= 100:
                self._known.clear()
            self._known[id(job.trainer)] = known
        return known[1]


def _without_weights(module: nn.Module) -> nn.Module:
    """A copy of the module without its weights; the module itself where it cannot be copied."""
    try:
        return bare_copy(module)
    except Exception:  # whatever somebody's own class raises: then a worker says what is wrong
        return module
