"""Monte Carlo: M replicas of an experiment, in several variants at once, in blocks that can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.open import open_backend
from fedward.lockstep.lockstep import Lockstep
from fedward.rundir.blocks_ahead import gaps
from fedward.rundir.part_record import begin_part
from fedward.rundir.replica_ledgers import write_ledgers
from fedward.rundir.replica_store import Block, ReplicaDirectory, has_replicas, require_draw
from fedward.rundir.results import ReplicasResult
from fedward.rundir.store import RunDirectory
from fedward.studies.progress import Clock, Progress
from fedward.studies.replicas.block_session import BlockSession, Work
from fedward.studies.replicas.cluster_blocks import run_on_cluster
from fedward.studies.replicas.replica_results import summarise
from fedward.studies.replicas.replica_setup import ReplicaRun, prepare_variants
from fedward.studies.study import open_run_directory

__all__ = ["ReplicaRun", "ReplicaStudy", "prepare_variants", "run_replicas"]


@dataclass(frozen=True, kw_only=True)
class ReplicaStudy:
    """M replicas of every variant of an experiment."""

    wanted: ReplicaRun

    open = open_run_directory

    def steps(self, place: RunDirectory, compute: Compute) -> Iterator[Progress]:
        return run_replicas(self.wanted, place, compute)

    def result(self, place: RunDirectory) -> ReplicasResult:
        found = place.result()
        assert isinstance(found, ReplicasResult)  # all its replicas are finished
        return found


def run_replicas(
    wanted: ReplicaRun,
    place: RunDirectory,
    compute: Compute = IN_PROCESS,
    enough: Callable[[], bool] = lambda: False,
) -> Iterator[Progress]:
    """Runs or resumes; yields after every round and evaluation, or after every block on a cluster.

    The unit of resume is (block, round) here, and the block on a cluster.

    Args:
      wanted: what to run.
      place: where.
      compute: on what.
      enough: asked between blocks; if it says yes, no more are run. A cluster, which finishes blocks in any
        order, does not ask.
    """
    directory, first = ReplicaDirectory(place, save_space=wanted.save_space), wanted.first
    assert first.federation.test is not None  # checked when the run was made
    begin_part(place.files, wanted.part, begun=has_replicas(place.path))
    directory.begin(wanted.manifest(first.engine(compute)), first.federation.test.y.numpy())
    write_ledgers(place.files, wanted.one_training)
    block = directory.load_block(list(wanted.variants))
    require_draw(place.path, wanted.draw, block)
    # A block under way is gone on with even if fewer are asked for now.
    start, stop = wanted.span
    stop = max(stop, 0 if block is None else block.stop)
    missing = gaps(start, stop, directory.finished)
    if missing and not (directory.finished and block is None and enough()):
        clock = Clock({kind: (stop - start) * count for kind, count in wanted.steps.items()})
        left = sum(last - first for first, last in missing)
        for kind, count in wanted.steps.items():
            clock.skip(kind, (stop - start - left) * count)
        work = Work(wanted=wanted, directory=directory, clock=clock, stop=stop, finished=stop - start - left)
        if compute.cluster is None:
            yield from _run_here(work, compute, block, enough)
        else:
            yield from run_on_cluster(work, compute, block)
    if wanted.part is None:
        place.save_result(summarise(place.path, list(wanted.variants)))


def _run_here(
    work: Work, compute: Compute, block: Block | None, enough: Callable[[], bool]
) -> Iterator[Progress]:
    """Runs what is missing on this machine, one block after the other, until there are enough."""
    wanted, first = work.wanted, work.wanted.first
    also = tuple(examples for setup in wanted.variants.values() for examples in setup.measured_on)
    with open_backend(first.model, first.federation, compute, also=also) as backend:
        together = Lockstep(first.model, first.federation, backend, seed=first.experiment.seed)
        session = BlockSession(work, backend, together)
        while True:
            if block is None:
                missing = gaps(wanted.span[0], work.stop, work.directory.finished)
                if not missing:
                    return
                start, stop = missing[0]
                stop = min(stop, start + wanted.block_size)
                block = Block(start=start, stop=stop, variants=tuple(wanted.variants), states=())
            yield from session.run_block(block)
            block = None
            if gaps(wanted.span[0], work.stop, work.directory.finished) and enough():
                return
