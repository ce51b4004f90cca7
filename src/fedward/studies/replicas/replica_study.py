"""Monte Carlo: M replicas of an experiment, in several variants at once, in blocks that can be resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.open import open_backend
from fedward.backends.protocol import Backend
from fedward.base.arrays_file import Arrays
from fedward.core.types import ServerState
from fedward.lockstep.lockstep import Lockstep
from fedward.rundir.replica_ledgers import write_ledgers
from fedward.rundir.replica_store import Block, ReplicaDirectory, count_finished, require_draw
from fedward.rundir.results import ReplicasResult
from fedward.rundir.store import RunDirectory
from fedward.studies.progress import Clock, Progress
from fedward.studies.replicas.replica_results import measure_replicas, summarise
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
    wanted: ReplicaRun, place: RunDirectory, compute: Compute = IN_PROCESS
) -> Iterator[Progress]:
    """Runs or resumes; yields after every round and evaluation. The unit of resume is (block, round)."""
    directory, first = ReplicaDirectory(place, save_space=wanted.save_space), wanted.first
    assert first.federation.test is not None  # checked when the run was made
    directory.begin(wanted.manifest(first.engine(compute)), first.federation.test.y.numpy())
    write_ledgers(place.path, wanted.one_training)
    block = directory.load_block(list(wanted.variants))
    require_draw(place.path, wanted.draw, block)
    finished = count_finished(place.path)
    # A block under way is gone on with even if fewer are asked for now.
    replicas = max(wanted.replicas, 0 if block is None else block.stop)
    if finished < wanted.replicas:
        also = tuple(examples for setup in wanted.variants.values() for examples in setup.measured_on)
        clock = Clock({kind: replicas * count for kind, count in wanted.steps.items()})
        for kind, count in wanted.steps.items():
            clock.skip(kind, finished * count)
        with open_backend(first.model, first.federation, compute, also=also) as backend:
            together = Lockstep(first.model, first.federation, backend, seed=first.experiment.seed)
            session = _Session(wanted, directory, backend, together, clock, finished)
            while session.finished < replicas:
                if block is None:
                    start, stop = session.finished, min(session.finished + wanted.block_size, replicas)
                    block = Block(start=start, stop=stop, variants=tuple(wanted.variants), states=())
                yield from session.run_block(block)
                block = None
    place.save_result(summarise(place.path, list(wanted.variants)))


@dataclass
class _Session:
    """One session of training: its parts, how many replicas are finished, and the accuracy of its own."""

    wanted: ReplicaRun
    directory: ReplicaDirectory
    backend: Backend
    together: Lockstep
    clock: Clock
    finished: int
    accuracy: dict[str, list[float]] = field(default_factory=dict)

    def run_block(self, block: Block) -> Iterator[Progress]:
        """Trains the replicas of a block from wherever they were left, and stores what they say."""
        variants, together, clock = self.wanted.variants, self.together, self.clock
        trainings = self.wanted.trainings(block.start, block.stop)
        states: Sequence[ServerState] = block.states or together.start(trainings)
        rounds = max(state.round for state in states)
        # Rounds that earlier sessions have done, or left out as a budget was spent.
        passed = [min(training.rounds, rounds) for training in trainings]
        first = sum(count > 0 for count in passed)
        clock.skip("first round", first)
        clock.skip("round", sum(passed) - first)
        for t in range(rounds, self.wanted.rounds):
            kind = "first round" if t == 0 else "round"
            asked, ran, after = together.asked, together.run, []
            for state, log in together.round(trainings, states):
                after.append(state)
                if log is not None:
                    yield self._tick(kind)
                elif t < trainings[len(after) - 1].rounds:
                    clock.skip(kind)  # its budget is spent
            states = after
            block = replace(
                block,
                states=tuple(states),
                asked=block.asked + together.asked - asked,
                run=block.run + together.run - ran,
            )
            self.directory.save_block(block)
        if block.stop >= self.wanted.replicas:
            together.forget()
        arrays: Arrays = {}
        for number, (name, setup) in enumerate(variants.items()):
            models = [state.parameters for state in states[number :: len(variants)]]
            found = yield from measure_replicas(setup, self.backend, models, self._tick)
            arrays |= {f"{name}/{key}": array for key, array in found.items()}
        self.directory.finish_block(block, arrays)
        clock.charge("evaluation", steps=len(states))
        for name in variants:
            self.accuracy.setdefault(name, []).extend(arrays[f"{name}/accuracy"].tolist())
        self.finished = block.stop
        yield self._progress()

    def _tick(self, kind: str) -> Progress:
        """A step is done."""
        self.clock.tick(kind)
        return self._progress()

    def _progress(self) -> Progress:
        return self.clock.progress(
            asked=self.together.asked,
            run=self.together.run,
            finished=self.finished,
            accuracy={name: fmean(values) for name, values in self.accuracy.items()},
        )
