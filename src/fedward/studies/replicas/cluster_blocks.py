"""Replicas on a cluster: blocks of them under way on every node, each stored when it arrives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from fedward.backends.compute import Compute
from fedward.backends.ray.attempts import Attempts
from fedward.backends.ray.block_sizes import BlockSizes
from fedward.backends.ray.cluster_jobs import ClusterJobs
from fedward.backends.ray.position_notes import Watch
from fedward.backends.ray.shipped import ship
from fedward.core.failure import TrainingFailed
from fedward.core.types import Job
from fedward.lockstep.lockstep import Lockstep
from fedward.lockstep.sharing import Key
from fedward.rundir.blocks_ahead import gaps
from fedward.rundir.replica_store import Block
from fedward.studies.progress import Progress
from fedward.studies.replicas.block_session import Work
from fedward.studies.replicas.block_task import run_block
from fedward.studies.replicas.stored_rows import store_rows


def run_on_cluster(work: Work, compute: Compute, block: Block | None) -> Iterator[Progress]:
    """Runs what is missing; yields when anything has come.

    The first round's jobs that several replicas share are trained once, over the whole cluster, and put into
    its object store. Then each block is one task: it goes through all its rounds where it is.

    Args:
      work: the replicas.
      compute: the cluster.
      block: one that was begun on one machine: it goes on from there.
    """
    # The federation is the same object in the backend's world and in the work: it goes there once.
    first = work.wanted.first
    backend = ClusterJobs(first.model, first.federation, compute, about=work.wanted)
    try:
        yield from _Blocks(work, backend).run(block)
    finally:
        backend.close()


class _Blocks:
    """The driver's half."""

    def __init__(self, work: Work, backend: ClusterJobs) -> None:
        self._work, self._backend = work, backend
        self._attempts = Attempts()
        self._task = backend.remote(run_block)
        self._rows: list[Any] = []
        self._asked = self._run = 0
        # Local trainings of the first round that are not counted with any block yet.
        self._uncounted = 0

    def run(self, begun: Block | None) -> Iterator[Progress]:
        work, wanted = self._work, self._work.wanted
        there = [*work.directory.finished, *([(begun.start, begun.stop)] if begun else [])]
        missing = gaps(wanted.span[0], work.stop, there)
        yield from self._train_first_round(missing)
        sizes = BlockSizes(sum(stop - start for start, stop in missing), most=wanted.block_size)
        if begun is not None:
            self._send(begun)
        try:
            while missing or len(self._attempts):
                slots = self._backend.slots
                # As many wait as run: nobody is idle while one that has arrived is stored.
                while missing and len(self._attempts) < 2 * slots:
                    start, stop = missing.pop(0)
                    last = min(stop, start + (wanted.block or sizes.next(slots)))
                    if last < stop:
                        missing.insert(0, (last, stop))
                    self._send(Block(start=start, stop=last, variants=tuple(wanted.variants), states=()))
                for attempt, answer in self._attempts.take():
                    yield self._take(attempt.about, answer, sizes)
        finally:
            self._attempts.close()

    def _train_first_round(self, missing: list[tuple[int, int]]) -> Iterator[Progress]:
        """Trains what replicas share in the first round, and puts the rows where every block finds them."""
        jobs = self._shared_jobs(missing)
        if not jobs:
            return
        clock = self._work.clock
        clock.add("shared job", len(jobs))
        rows = self._backend.train(jobs.values())
        for number, reference in store_rows(zip(jobs, rows, strict=True)):
            if reference is not None:
                self._rows = [reference]
                continue
            self._run = self._uncounted = number
            clock.tick("shared job")
            yield self._progress()

    def _shared_jobs(self, missing: list[tuple[int, int]]) -> dict[Key, Job]:
        """The distinct jobs of the first round that more than one replica asks for."""
        wanted, first = self._work.wanted, self._work.wanted.first
        together = Lockstep(first.model, first.federation, self._backend, seed=first.experiment.seed)
        jobs: dict[Key, Job] = {}
        by: dict[Key, int] = {}
        shared: set[Key] = set()
        for start, stop in missing:
            for replica in range(start, stop):
                for named in together.first_jobs(wanted.trainings(replica, replica + 1)):
                    for name, job in named:
                        jobs.setdefault(name, job)
                        if by.setdefault(name, replica) != replica:
                            shared.add(name)
        return {name: job for name, job in jobs.items() if name in shared}

    def _send(self, block: Block) -> None:
        self._attempts.start(partial(self._submit, block), block)

    def _submit(self, block: Block, watch: Watch | None) -> Any:
        return self._task.remote(self._backend.world, self._rows, ship(block), watch)

    def _take(self, block: Block, answer: Any, sizes: BlockSizes) -> Progress:
        """Stores a block that has arrived."""
        replicas = block.stop - block.start
        if isinstance(answer, TrainingFailed):
            told = f"{answer.why} (in a block of replicas {block.start} to {block.stop - 1})"
            raise TrainingFailed(
                told, user=answer.user, round=answer.round, replica=answer.replica
            ) from answer
        if isinstance(answer, Exception):
            raise answer
        ran = answer["run"] + self._uncounted
        self._asked, self._run = self._asked + answer["asked"], self._run + answer["run"]
        self._uncounted = 0
        self._work.finish(replace(block, asked=answer["asked"], run=ran, states=()), answer["arrays"])
        sizes.measured(answer["seconds"], replicas)
        for kind, count in self._work.wanted.steps.items():
            self._work.clock.tick_together(kind, replicas * count) if count else None
        return self._progress()

    def _progress(self) -> Progress:
        return replace(self._work.progress(self._asked, self._run), blocks=len(self._attempts))
