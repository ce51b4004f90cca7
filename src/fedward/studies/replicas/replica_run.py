"""Monte Carlo: M replicas of an experiment, in several variants at once, in blocks that can be resumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from fedward.backends.engines.choice import Choice
from fedward.backends.open import AnyBackend, check_workers, engine_in_words, open_backend
from fedward.base.arrays_file import Arrays
from fedward.core.types import ServerState
from fedward.lockstep.lockstep import Lockstep, Training
from fedward.rundir.replica_draw import require_draw
from fedward.rundir.replica_ledgers import write_ledgers
from fedward.rundir.replica_store import Block, ReplicaDirectory
from fedward.studies.replicas.replica_guarantees import one_training
from fedward.studies.replicas.replica_progress import ReplicaClock, ReplicaProgress
from fedward.studies.replicas.replica_results import measured, summary
from fedward.studies.replicas.replica_setup import ReplicaRun, prepare_variants

__all__ = ["ReplicaRun", "manifest_of", "prepare_variants", "run_replicas"]


def manifest_of(wanted: ReplicaRun, device: str, engine: Choice | None) -> dict[str, Any]:
    """What is run, and by which engine."""
    first = wanted.first
    return wanted.manifest() | {"engine": engine_in_words(first.model, first.federation, device, engine)}


def run_replicas(
    wanted: ReplicaRun,
    directory: ReplicaDirectory,
    *,
    workers: int | None = 0,
    device: str = "cpu",
    engine: Choice | None = None,
) -> Iterator[ReplicaProgress]:
    """Runs or resumes; yields after every round and evaluation. The unit of resume is (block, round)."""
    check_workers(workers, device)
    test = wanted.first.federation.test
    assert test is not None  # checked when the run was made
    directory.begin(manifest_of(wanted, device, engine), test.y.numpy())
    write_ledgers(directory.path, {name: one_training(setup) for name, setup in wanted.variants.items()})
    block = directory.load_block(list(wanted.variants))
    require_draw(directory.path, wanted.draw, block)
    if directory.finished() < wanted.replicas:
        yield from _run_blocks(wanted, directory, block, workers, device, engine)
    directory.finish(summary(directory, list(wanted.variants)))


def _run_blocks(
    wanted: ReplicaRun,
    directory: ReplicaDirectory,
    block: Block | None,
    workers: int | None,
    device: str,
    engine: Choice | None,
) -> Iterator[ReplicaProgress]:
    also = tuple(examples for setup in wanted.variants.values() for examples in setup.measured_on)
    first = wanted.first
    with open_backend(
        first.model, first.federation, workers=workers, device=device, engine=engine, also=also
    ) as backend:
        together = Lockstep(first.model, first.federation, backend, seed=first.experiment.seed)
        finished = directory.finished()
        # A block under way is gone on with even if fewer are asked for now.
        replicas = max(wanted.replicas, 0 if block is None else block.stop)
        clock = ReplicaClock(wanted.steps, replicas, finished, together)
        while finished < replicas:
            if block is None:
                stop = min(finished + wanted.block_size, replicas)
                block = Block(start=finished, stop=stop, variants=tuple(wanted.variants), states=())
            yield from _run_block(wanted, directory, backend, together, clock, block)
            finished, block = block.stop, None


def _run_block(
    wanted: ReplicaRun,
    directory: ReplicaDirectory,
    backend: AnyBackend,
    together: Lockstep,
    clock: ReplicaClock,
    block: Block,
) -> Iterator[ReplicaProgress]:
    trainings = wanted.trainings(block.start, block.stop)
    states: Sequence[ServerState] = block.states or together.start(trainings)
    rounds = max(state.round for state in states)
    _skip_passed(clock, trainings, rounds)
    for t in range(rounds, wanted.rounds):
        kind = "first round" if t == 0 else "round"
        asked, ran, after = together.asked, together.run, []
        for state, log in together.round(trainings, states):
            after.append(state)
            if log is not None:
                yield clock.tick(kind)
            elif t < trainings[len(after) - 1].rounds:
                yield clock.skip(kind)  # its budget is spent
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
        found = yield from measured(setup, backend, models, clock)
        arrays |= {f"{name}/{key}": array for key, array in found.items()}
    directory.finish_block(block, arrays)
    clock.charge("evaluation", steps=len(states))
    yield clock.finish(block.stop, {name: arrays[f"{name}/accuracy"].tolist() for name in wanted.variants})


def _skip_passed(clock: ReplicaClock, trainings: Sequence[Training], rounds: int) -> None:
    """Rounds that earlier sessions have done, or left out as a budget was spent."""
    passed = [min(training.rounds, rounds) for training in trainings]
    first = sum(count > 0 for count in passed)
    clock.skip("first round", first)
    clock.skip("round", sum(passed) - first)
