"""The backend of a single training on many machines: jobs run on the nodes of a cluster, in chunks."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.backends.compute import Compute
from fedward.backends.engines.choice import choose_engine
from fedward.backends.engines.evaluation import Metrics
from fedward.backends.engines.switches import switches
from fedward.backends.processes.chunks import Cutter, Pace, Sized
from fedward.backends.processes.worker_buffers import tensors_of
from fedward.backends.processes.worker_failures import rebuilt
from fedward.backends.ray import connection
from fedward.backends.ray.attempts import Attempts
from fedward.backends.ray.chunk_tasks import JobChunk, World, measure_chunk, train_chunk
from fedward.backends.ray.position_notes import Watch
from fedward.backends.ray.shipped import Shipped, ship
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.core.types import Job, Row

AHEAD = 3
"""Chunks for each core that are under way, or done and not asked for yet: this bounds memory."""

_KEPT = 64
"""Parameters and own examples whose references are kept, for the chunks that use them next."""

_OTHERS = tuple(each.name for each in fields(Job) if each.name not in ("parameters", "trainer", "examples"))


class ClusterJobs:
    """Trains users on the nodes of a Ray cluster, one job a core.

    Data goes to every node once, parameters once a round. Rows have the same bits as those of ``InProcess``
    for any number of nodes and any chunks, as nodes that would round differently are refused when the cluster
    is joined. What dies is run again. Noise from system entropy is drawn here: a user's seed goes with its
    job, so that a job that runs twice draws the same noise.

    Args:
      module: the model.
      federation: whose users the jobs name.
      compute: the cluster, device and engine.
      chunk: how many jobs a task has; as many as take about 50 ms if not given.
      about: what tasks of other kinds find in the world, which is shipped with it.
    """

    def __init__(
        self,
        module: nn.Module,
        federation: Federation,
        compute: Compute,
        *,
        chunk: int | None = None,
        about: Any = None,
    ) -> None:
        self.compute = compute
        self._cluster = connection.join(compute)
        self._open = True
        try:
            import ray

            world = World(
                module=module,
                federation=federation,
                switches=switches(),
                engine=choose_engine(compute.engine),
                device=compute.device,
                about=about,
            )
            # In a list, so that it is fetched once a process and not once a task.
            self.world = [ray.put(ship(world))]
            self._train_chunk, self._measure_chunk = self.remote(train_chunk), self.remote(measure_chunk)
        except BaseException:
            self.close()
            raise
        self._federation = federation
        self._chunk = chunk
        self._stored = _Stored()
        self._trainers: OrderedDict[int, tuple[Any, Shipped]] = OrderedDict()
        self._paces = {task: Pace() for task in ("train", "evaluate", "confidences")}

    @property
    def slots(self) -> int:
        """How many tasks can run at once."""
        return self._cluster.slots

    def remote(self, function: Callable[..., Any]) -> Any:
        """A function as a task that takes what one job takes; one that dies is not run again by Ray."""
        import ray

        return ray.remote(max_retries=0, **self._cluster.needs)(function)

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        """Rows in the order of the jobs, which are taken only a little ahead of them."""
        self._check_open()
        return self._rows(jobs)

    def evaluate(self, parameters: Tensor, examples: Examples) -> Metrics:
        """Accuracy and loss of a model."""
        (metrics,) = self.evaluate_many([parameters], examples)
        return metrics

    def evaluate_many(self, models: Iterable[Tensor], examples: Examples) -> Iterator[Metrics]:
        """Accuracy and loss of each model, in the order of the models."""
        self._check_open()
        return (Metrics(**found) for found in self._measured("evaluate", models, examples))

    def confidences(self, models: Iterable[Tensor], examples: Examples) -> Iterator[NDArray[np.float32]]:
        """The softmax of each model's scores, ``[examples, classes]``, in the order of the models."""
        self._check_open()
        return self._measured("confidences", models, examples)

    def close(self) -> None:
        """Leaves the cluster; afterwards all work is refused."""
        if self._open:
            self._open = False
            connection.leave(self._cluster)

    def _check_open(self) -> None:
        if not self._open:
            raise InvalidValue("a cluster's backend must be open, but this one was closed; make a new one")

    def _rows(self, jobs: Iterable[Job]) -> Iterator[Row]:
        def prepare(job: Job) -> Sized:
            count = job.num_examples if job.examples is None else len(job.examples)
            # Whatever is wrong with its trainer is said where its row would be.
            return Sized((_with_seed(job), self._ship_trainer(job)), max(1, count), job.parameters.nbytes)

        with closing(self._run("train", jobs, prepare, self._send_jobs)) as results:
            for (job, _), (norm, update) in results:
                yield Row(job.user, _own(update), norm)

    def _measured(self, task: str, models: Iterable[Tensor], examples: Examples) -> Iterator[Any]:
        own = [] if examples is self._federation.test else [self._stored.put(examples, tensors_of(examples))]
        size = len(examples) * self._federation.num_classes * 4 if task == "confidences" else 0

        def prepare(model: Tensor) -> Sized:
            return Sized(model, max(1, len(examples)), size)

        def send(items: Sequence[Tensor], watch: Watch | None) -> Any:
            stored = [self._stored.put(model, [model]) for model in items]
            return self._measure_chunk.remote(self.world, task, stored, own, watch)

        with closing(self._run(task, models, prepare, send)) as results:
            for _, found in results:
                yield np.array(found) if task == "confidences" else found

    def _run(
        self,
        task: str,
        items: Iterable[Any],
        prepare: Callable[[Any], Sized],
        send: Callable[[Sequence[Any], Watch | None], Any],
    ) -> Generator[tuple[Any, Any]]:
        """Each item with what came out of it, in order; raises what went wrong first in that order."""
        pace, slots = self._paces[task], self._cluster.slots
        cutter = Cutter(items, prepare, pace=pace, fixed=self._chunk, parts=2 * slots)
        attempts, ahead = Attempts(), deque[_Chunk]()
        try:
            while True:
                self._check_open()
                while len(ahead) < AHEAD * self._cluster.slots and (taken := cutter.cut()):
                    chunk = _Chunk([each.item for each in taken], sum(each.weight for each in taken))
                    ahead.append(chunk)
                    chunk.start(attempts, send)
                if not ahead:
                    break
                if not ahead[0].done:
                    for attempt, answer in attempts.take():
                        attempt.about.take(answer, pace, attempts, send)
                    continue
                chunk = ahead.popleft()
                yield from zip(chunk.items, chunk.results, strict=False)
                if chunk.failure is not None:
                    raise chunk.failure
            if cutter.error is not None:
                raise cutter.error
        finally:
            attempts.drop([chunk.attempt for chunk in ahead if not chunk.done])

    def _send_jobs(self, items: Sequence[tuple[Job, Shipped]], watch: Watch | None) -> Any:
        stored: dict[Any, int] = {}
        trainers: dict[int, int] = {}
        shipped: list[Shipped] = []
        told = []

        def place(thing: Any, tensors: Sequence[Tensor]) -> int:
            return stored.setdefault(self._stored.put(thing, tensors), len(stored))

        for job, trainer in items:
            if id(trainer) not in trainers:
                trainers[id(trainer)] = len(shipped)
                shipped.append(trainer)
            own = None if job.examples is None else place(job.examples, tensors_of(job.examples))
            others = {name: getattr(job, name) for name in _OTHERS}
            told.append((place(job.parameters, [job.parameters]), trainers[id(trainer)], own, others))
        chunk = JobChunk(stored=list(stored), trainers=shipped, jobs=told)
        return self._train_chunk.remote(self.world, chunk, watch)

    def _ship_trainer(self, job: Job) -> Shipped:
        known = self._trainers.get(id(job.trainer))
        if known is None:
            try:
                known = job.trainer, ship(job.trainer)
            except Exception as error:
                why = f"the trainer cannot be sent to a cluster: {error!r}"
                raise TrainingFailed(why, user=job.user) from error
            self._trainers[id(job.trainer)] = known
            if len(self._trainers) > _KEPT:
                self._trainers.popitem(last=False)
        return known[1]


@dataclass(eq=False)
class _Chunk:
    """Some items, and what came out of them.

    ``failure`` belongs to the item after the last result: everything before it is still good.
    """

    items: list[Any]
    weight: float
    results: list[Any] = field(default_factory=list)
    failure: Exception | None = None
    done: bool = False
    attempt: Any = None

    def start(self, attempts: Attempts, send: Callable[[Sequence[Any], Watch | None], Any]) -> None:
        self.attempt = attempts.start(partial(send, self.items), self)

    def take(self, answer: Any, pace: Pace, attempts: Attempts, send: Any) -> None:
        """Takes what a task answered; what comes before a job that kills its process runs once more."""
        if isinstance(answer, Exception):
            self.failure = answer
            user = answer.user if isinstance(answer, TrainingFailed) else None
            before = next((n for n, item in enumerate(self.items) if user == _user(item)), 0)
            self.items, self.done = self.items[:before], before == 0
            if before:
                self.start(attempts, send)
            return
        self.results = answer.get("found") or list(
            zip(answer.get("norms", ()), answer.get("updates", ()), strict=True)
        )
        if answer["ended"] is not None:
            self.failure = rebuilt(answer["ended"])
        if self.failure is None:
            pace.measured(answer["seconds"], self.weight)
        self.done = True


def _user(item: Any) -> int | None:
    return item[0].user if isinstance(item, tuple) else None


def _own(array: NDArray[Any]) -> Tensor:
    """A tensor with the values of an array that lies in the object store, which nobody may write to."""
    tensor = torch.empty(array.shape, dtype=torch.from_numpy(np.empty(0, array.dtype)).dtype)
    tensor.numpy()[...] = array
    return tensor


class _Stored:
    """References to tensors and examples in the object store, so that nothing is put there twice."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Any, ...], tuple[Any, Any]] = OrderedDict()

    def put(self, thing: Any, tensors: Sequence[Tensor]) -> Any:
        """The reference to a thing that is made of these tensors; they count what is written to them."""
        import ray

        # An inference tensor does not count: it is put again each time.
        versions = tuple(None if each.is_inference() else each._version for each in tensors)
        key = (id(thing), *versions)
        known = None if None in versions else self._known.pop(key, None)
        if known is None:
            known = thing, ray.put(ship(thing))
        self._known[key] = known
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return known[1]


def _with_seed(job: Job) -> Job:
    """The job with the seed that its user draws, so that it is the same however often it runs."""
    return job if job.seed is not None else replace(job, seed=job.draw_seed())
