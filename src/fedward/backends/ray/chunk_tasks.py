"""A node's half of the backend: chunks of jobs to train, chunks of models to measure."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from fedward.backends.engines.allocator import keep_freed_memory
from fedward.backends.engines.choice import Choice, Engine
from fedward.backends.engines.switches import switch
from fedward.backends.processes.worker_failures import describe_failure
from fedward.backends.ray.node_memory import held, keep
from fedward.backends.ray.position_notes import Watch
from fedward.backends.ray.shipped import Shipped, unship
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.types import Job, Row


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """What all chunks of one backend are about: sent once a node.

    ``switches`` are those of torch that decide over last bits; ``about`` is for tasks of other kinds.
    """

    module: torch.nn.Module
    federation: Federation
    switches: dict[str, Any]
    engine: Choice
    device: str
    about: Any = None

    def prepare(self) -> None:
        """Sets this process up to compute as the driver does."""
        keep_freed_memory()
        torch.set_num_threads(1)
        switch(self.switches)


class _Prepared:
    """A world with its engine."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.prepare()
        self.engine = Engine(self.world.module, self.world.device, self.world.engine)


def _prepared(reference: Any) -> _Prepared:
    found: _Prepared = keep(f"engine {reference.hex()}", lambda: _Prepared(held(reference, unship)))
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class JobChunk:
    """Some jobs: their parameters and own examples are in the object store, and named by their places there.

    Args:
      stored: references to what the jobs share.
      trainers: the trainers that they share.
      jobs: of each the places of its parameters, trainer and examples, and the other fields of ``Job``.
    """

    stored: Sequence[Any]
    trainers: Sequence[Shipped]
    jobs: Sequence[tuple[int, int, int | None, dict[str, Any]]]


def train_chunk(world: Sequence[Any], chunk: JobChunk, watch: Watch | None) -> dict[str, Any]:
    """The rows of the jobs before the first that fails, and how it failed.

    Args:
      world: one reference; in a list, so that it is fetched once a process and not once a task.
      chunk: the jobs.
      watch: where the place is noted before each job; None for nowhere.
    """
    began = time.perf_counter()
    jobs: list[Job] = []
    data: list[Examples] = []
    failure: BaseException | None = None
    rows: list[Row] = []
    try:
        prepared = _prepared(world[0])
        trainers = [unship(each) for each in chunk.trainers]
        for parameters, trainer, examples, others in chunk.jobs:
            own = None if examples is None else held(chunk.stored[examples], unship)
            vector = held(chunk.stored[parameters], unship)
            job = Job(parameters=vector, trainer=trainers[trainer], examples=own, **others)
            data.append(prepared.world.federation.user(job.user) if own is None else own)
            jobs.append(job)

        def going(place: int) -> bool:
            if watch is not None:
                watch.at(jobs[place].user, jobs[place].round)
            return True

        rows, failure = prepared.engine.attempt(jobs, data, going)
    except Exception as error:
        failure = error
    at = chunk.jobs[min(len(rows), len(chunk.jobs) - 1)][3]["user"]
    _flush()
    return {
        "norms": [None if row.norm is None else float(row.norm) for row in rows],
        "updates": [row.update.contiguous().numpy() for row in rows],
        "ended": None if failure is None else describe_failure(failure, at),
        "seconds": time.perf_counter() - began,
    }


def measure_chunk(
    world: Sequence[Any], task: str, models: Sequence[Any], examples: Sequence[Any], watch: Watch | None
) -> dict[str, Any]:
    """What models say about examples: metrics, or confidences.

    Args:
      world: as in ``train_chunk``.
      task: ``evaluate`` or ``confidences``.
      models: references to their parameters.
      examples: one reference; none for the test set of the world.
      watch: as in ``train_chunk``.
    """
    began = time.perf_counter()
    found: list[Any] = []
    failure = None
    try:
        prepared = _prepared(world[0])
        asked = held(examples[0], unship) if examples else prepared.world.federation.test
        measure: Callable[..., Any] = getattr(prepared.engine, task)
        for model in models:
            if watch is not None:
                watch.at(None, None)
            each = measure(held(model, unship), asked)
            found.append(asdict(each) if task == "evaluate" else each)
    except Exception as error:
        failure = describe_failure(error, None)
    _flush()
    return {"found": found, "ended": failure, "seconds": time.perf_counter() - began}


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
