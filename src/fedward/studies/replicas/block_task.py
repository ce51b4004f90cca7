"""A node's half of a run of replicas: one block, from its first round to what its replicas say."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fedward.backends.in_process import InProcess
from fedward.backends.processes.worker_failures import describe_failure
from fedward.backends.protocol import Backend
from fedward.backends.ray.chunk_tasks import World
from fedward.backends.ray.node_memory import held
from fedward.backends.ray.position_notes import Watch, node_name
from fedward.backends.ray.shipped import Shipped, unship
from fedward.base.arrays_file import Arrays
from fedward.core.types import Job, Row
from fedward.lockstep.lockstep import Lockstep
from fedward.rundir.replica_store import Block
from fedward.studies.progress import Clock
from fedward.studies.replicas.block_session import BlockSession, Work
from fedward.studies.replicas.replica_setup import ReplicaRun
from fedward.studies.replicas.stored_rows import read_rows


def run_block(
    world: Sequence[Any], rows: Sequence[Any], block: Shipped, watch: Watch | None
) -> dict[str, Any]:
    """Trains a block and measures it; what went wrong is said in words.

    Args:
      world: one reference to what all blocks are about, whose ``about`` is the ``ReplicaRun``.
      rows: one reference to the rows of the first round that are there already; none where there are none.
      block: which replicas, and their states where they have been begun.
      watch: where each job is noted before it runs; None for nowhere.
    """
    began = time.perf_counter()
    try:
        there = held(world[0], unship)
        finished = _run(there, rows, unship(block), watch)
    except Exception as error:
        return {"failure": describe_failure(error, None), "node": node_name()}
    return {**finished, "failure": None, "seconds": time.perf_counter() - began, "node": node_name()}


def _run(world: World, rows: Sequence[Any], block: Block, watch: Watch | None) -> dict[str, Any]:
    world.prepare()
    wanted: ReplicaRun = world.about
    backend: Backend = InProcess(world.module, world.federation, world.device, world.engine)
    backend = backend if watch is None else Watched(backend, watch)
    seed = wanted.first.experiment.seed
    given = read_rows(rows[0]) if rows else None
    together = Lockstep(world.module, world.federation, backend, seed=seed, given=given)
    kept = _Kept()
    clock = Clock({kind: (block.stop - block.start) * count for kind, count in wanted.steps.items()})
    work = Work(wanted=wanted, directory=kept, clock=clock, stop=block.stop)
    for _ in BlockSession(work, backend, together).run_block(block):
        pass
    assert kept.block is not None
    return {"arrays": kept.arrays, "asked": kept.block.asked, "run": kept.block.run}


class _Kept:
    """Keeps what a block says for the driver, who stores it."""

    finished: list[tuple[int, int]]

    def __init__(self) -> None:
        self.finished = []
        self.block: Block | None = None
        self.arrays: Arrays = {}

    def save_block(self, block: Block) -> None:
        """A node stores nothing."""

    def finish_block(self, block: Block, arrays: Arrays, draw: str) -> None:
        self.block, self.arrays = block, arrays


class Watched:
    """A backend that notes every job before it runs."""

    def __init__(self, backend: Backend, watch: Watch) -> None:
        self._backend, self._watch = backend, watch
        self.evaluate, self.evaluate_many = backend.evaluate, backend.evaluate_many
        self.confidences, self.close = backend.confidences, backend.close

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        for job in jobs:
            self._watch.at(job.user, job.round)
            yield from self._backend.train([job])
