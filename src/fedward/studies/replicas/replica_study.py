"""Monte Carlo: M replicas of an experiment, in several variants at once, in blocks that can be resumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.open import engine_in_words, open_backend
from fedward.backends.protocol import Backend
from fedward.base.arrays_file import Arrays
from fedward.core.types import ServerState
from fedward.lockstep.lockstep import Lockstep, Training
from fedward.rundir.manifest import Manifest
from fedward.rundir.replica_draw import require_draw
from fedward.rundir.replica_ledgers import write_ledgers
from fedward.rundir.replica_store import Block, ReplicaDirectory
from fedward.rundir.results import ReplicasResult
from fedward.rundir.store import RunDirectory
from fedward.studies.progress import Clock, Progress
from fedward.studies.replicas.replica_guarantees import one_training
from fedward.studies.replicas.replica_results import measure_replicas, summarise
from fedward.studies.replicas.replica_setup import ReplicaRun, prepare_variants
from fedward.studies.study import open_run_directory

__all__ = ["ReplicaRun", "ReplicaStudy", "manifest_of", "prepare_variants", "run_replicas"]


@dataclass(frozen=True, kw_only=True)
class ReplicaStudy:
    """M replicas of every variant of an experiment."""

    wanted: ReplicaRun

    open = open_run_directory

    def steps(self, place: RunDirectory, compute: Compute) -> Iterator[Progress]:
        directory = ReplicaDirectory(place, save_space=self.wanted.save_space)
        return run_replicas(self.wanted, directory, compute)

    def result(self, place: RunDirectory) -> ReplicasResult:
        found = place.result()
        assert isinstance(found, ReplicasResult)  # all its replicas are finished
        return found


def manifest_of(wanted: ReplicaRun, compute: Compute) -> Manifest:
    """What is run, and by which engine."""
    return wanted.manifest(engine_in_words(wanted.first.model, wanted.first.federation, compute))


def run_replicas(
    wanted: ReplicaRun, directory: ReplicaDirectory, compute: Compute = IN_PROCESS
) -> Iterator[Progress]:
    """Runs or resumes; yields after every round and evaluation. The unit of resume is (block, round)."""
    test = wanted.first.federation.test
    assert test is not None  # checked when the run was made
    directory.begin(manifest_of(wanted, compute.check()), test.y.numpy())
    write_ledgers(directory.path, {name: one_training(setup) for name, setup in wanted.variants.items()})
    block = directory.load_block(list(wanted.variants))
    require_draw(directory.path, wanted.draw, block)
    finished, first = directory.finished(), wanted.first
    # A block under way is gone on with even if fewer are asked for now.
    replicas = max(wanted.replicas, 0 if block is None else block.stop)
    if finished < wanted.replicas:
        also = tuple(examples for setup in wanted.variants.values() for examples in setup.measured_on)
        with open_backend(first.model, first.federation, compute, also=also) as backend:
            together = Lockstep(first.model, first.federation, backend, seed=first.experiment.seed)
            session = _Session(together, wanted.steps, replicas, finished)
            while finished < replicas:
                if block is None:
                    stop = min(finished + wanted.block_size, replicas)
                    block = Block(start=finished, stop=stop, variants=tuple(wanted.variants), states=())
                yield from _run_block(wanted, directory, backend, together, session, block)
                finished, block = block.stop, None
    directory.finish(summarise(directory, list(wanted.variants)))


class _Session:
    """The progress of all replicas: steps, jobs, how many are finished, and the accuracy of these.

    Args:
      together: counts the jobs.
      steps: how many steps of each kind a replica has.
      replicas: M.
      finished: replicas that earlier sessions have finished.
    """

    def __init__(self, together: Lockstep, steps: Mapping[str, int], replicas: int, finished: int) -> None:
        self.clock = Clock({kind: replicas * count for kind, count in steps.items()})
        for kind, count in steps.items():
            self.clock.skip(kind, finished * count)
        self._together, self._before, self._finished = together, finished, finished
        self._accuracy: dict[str, float] = {}

    def tick(self, kind: str) -> Progress:
        """A step is done."""
        self.clock.tick(kind)
        return self.progress()

    def finish(self, replicas: int, accuracy: Mapping[str, Sequence[float]]) -> Progress:
        """So many replicas are finished now; ``accuracy`` is of those that have just been, by variant."""
        for name, values in accuracy.items():
            so_far = self._accuracy.get(name, 0.0) * (self._finished - self._before)
            self._accuracy[name] = (so_far + sum(values)) / (replicas - self._before)
        self._finished = replicas
        return self.progress()

    def progress(self) -> Progress:
        return self.clock.progress(
            asked=self._together.asked,
            run=self._together.run,
            finished=self._finished,
            accuracy=dict(self._accuracy),
        )


def _run_block(
    wanted: ReplicaRun,
    directory: ReplicaDirectory,
    backend: Backend,
    together: Lockstep,
    session: _Session,
    block: Block,
) -> Iterator[Progress]:
    trainings = wanted.trainings(block.start, block.stop)
    states: Sequence[ServerState] = block.states or together.start(trainings)
    rounds = max(state.round for state in states)
    _skip_passed(session.clock, trainings, rounds)
    for t in range(rounds, wanted.rounds):
        kind = "first round" if t == 0 else "round"
        asked, ran, after = together.asked, together.run, []
        for state, log in together.round(trainings, states):
            after.append(state)
            if log is not None:
                yield session.tick(kind)
            elif t < trainings[len(after) - 1].rounds:
                session.clock.skip(kind)  # its budget is spent
        states = after
        block = replace(
            block,
            states=tuple(states),
            asked=block.asked + together.asked - asked,
            run=block.run + together.run - ran,
        )
        directory.save_block(block)
    if block.stop >= wanted.replicas:
        together.forget()
    arrays: Arrays = {}
    for number, (name, setup) in enumerate(wanted.variants.items()):
        models = [state.parameters for state in states[number :: len(wanted.variants)]]
        found = yield from measure_replicas(setup, backend, models, session.tick)
        arrays |= {f"{name}/{key}": array for key, array in found.items()}
    directory.finish_block(block, arrays)
    session.clock.charge("evaluation", steps=len(states))
    yield session.finish(block.stop, {name: arrays[f"{name}/accuracy"].tolist() for name in wanted.variants})


def _skip_passed(clock: Clock, trainings: Sequence[Training], rounds: int) -> None:
    """Rounds that earlier sessions have done, or left out as a budget was spent."""
    passed = [min(training.rounds, rounds) for training in trainings]
    first = sum(count > 0 for count in passed)
    clock.skip("first round", first)
    clock.skip("round", sum(passed) - first)
