"""Monte Carlo: M replicas of an experiment, in several variants at once, in blocks that can be resumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedward.backends import InProcess, Workers
from fedward.core.lockstep import Lockstep, Training
from fedward.core.parameters import ParameterSpec
from fedward.core.types import ServerState
from fedward.core.validate import InvalidValue, whole
from fedward.experiment.backend import check_workers, open_backend
from fedward.experiment.config import Experiment
from fedward.experiment.replica_progress import ReplicaClock, ReplicaProgress
from fedward.experiment.replica_results import measured, summary
from fedward.experiment.replica_store import Block, ReplicaDirectory
from fedward.experiment.runner import manifest
from fedward.experiment.setup import Setup, prepare

# A kill loses at most one round of one block, so a block is kept to some minutes of work; and the states of a
# block, before and after a round, are in memory together.
_TRAININGS = 100
_MEMORY = 256 * 2**20


@dataclass(frozen=True, kw_only=True)
class ReplicaRun:
    """M replicas of every variant. Variants share data, initial model and seed, and so their equal jobs.

    Args:
      variants: the experiment with other values for some keys, by name.
      replicas: M. Replicas 0 to M - 1 differ in sampling and noise, and in nothing else.
      save_space: keeps running sums of confidences, their squares and votes instead of the confidences of
        every replica.
      block: how many replicas go through their rounds together; chosen by size if not given. It changes
        memory and how much a kill loses, never the result.
    """

    variants: dict[str, Setup]
    replicas: int
    save_space: bool = False
    block: int | None = None

    def __post_init__(self) -> None:
        whole("replicas", self.replicas)
        if self.block is not None:
            whole("block", self.block)
        first = self.first
        for name, setup in self.variants.items():
            if setup.federation is not first.federation:
                raise InvalidValue(
                    f"variants must train on the same data, but {name} holds some of it back from its users"
                )
            if setup.algorithm.noise_source == "system":
                raise InvalidValue(
                    f"replicas are simulated and need seeded noise, got noise from system entropy in {name}"
                )
        if first.federation.test is None:
            raise InvalidValue("replicas are asked about test examples, and this data has none")

    @property
    def first(self) -> Setup:
        return next(iter(self.variants.values()))

    @property
    def rounds(self) -> int:
        return max(setup.experiment.rounds for setup in self.variants.values())

    @property
    def block_size(self) -> int:
        """How many replicas a block has."""
        if self.block is not None:
            return self.block
        size = ParameterSpec.of(self.first.model).size * 4 * 2
        return max(1, min(_TRAININGS, _MEMORY // size) // len(self.variants))

    def trainings(self, start: int, stop: int) -> list[Training]:
        """All variants of each replica next to each other: they share most."""
        return [
            Training(
                algorithm=setup.algorithm,
                rounds=setup.experiment.rounds,
                replica=replica,
                adversary=setup.attack.adversary if setup.attack else None,
                budget=setup.experiment.make_budget(setup.algorithm, setup.federation),
            )
            for replica in range(start, stop)
            for setup in self.variants.values()
        ]

    def manifest(self) -> dict[str, Any]:
        """What is run, for ``run.json``; how many replicas is not part of it: more can be asked for later."""
        found = {name: manifest(setup) for name, setup in self.variants.items()}
        experiments = {name: variant["experiment"] for name, variant in found.items()}
        shared = next(iter(found.values()))
        return {
            "experiment": {"variants": experiments, "save_space": self.save_space},
            "data": shared["data"],
            "versions": shared["versions"],
            "one_replica": {name: str(setup.planned) for name, setup in self.variants.items()},
        }


def prepare_variants(experiments: Mapping[str, Experiment], data_dir: Path | None = None) -> dict[str, Setup]:
    """Loads the data once and makes every variant ready."""
    federation = next(iter(experiments.values())).load_data(data_dir)
    setups = {}
    for name, experiment in experiments.items():
        try:
            setups[name] = prepare(experiment, federation=federation)
        except InvalidValue as error:
            raise InvalidValue(f"{name}: {error}" if len(experiments) > 1 else str(error)) from error
    return setups


def run_replicas(
    wanted: ReplicaRun, directory: ReplicaDirectory, *, workers: int | None = 0, device: str = "cpu"
) -> Iterator[ReplicaProgress]:
    """Runs or resumes; yields after every round of every replica. The unit of resume is (block, round)."""
    check_workers(workers, device)
    test = wanted.first.federation.test
    assert test is not None  # checked when the run was made
    directory.begin(wanted.manifest(), test.y.numpy())
    finished = directory.finished()
    if finished < wanted.replicas:
        yield from _run_blocks(wanted, directory, finished, workers, device)
    directory.finish(summary(directory, list(wanted.variants)))


def _run_blocks(
    wanted: ReplicaRun, directory: ReplicaDirectory, finished: int, workers: int | None, device: str
) -> Iterator[ReplicaProgress]:
    also = tuple(examples for setup in wanted.variants.values() for examples in setup.measured_on)
    first = wanted.first
    with open_backend(first.model, first.federation, workers=workers, device=device, also=also) as backend:
        together = Lockstep(first.model, first.federation, backend, seed=first.experiment.seed)
        rounds = [setup.experiment.rounds for setup in wanted.variants.values()]
        clock = ReplicaClock(rounds, wanted.replicas, finished)
        while finished < wanted.replicas:
            block = directory.load_block()
            if block is None:
                stop = min(finished + wanted.block_size, wanted.replicas)
                block = Block(start=finished, stop=stop, states=())
            yield from _run_block(wanted, directory, backend, together, clock, block)
            finished = block.stop


def _run_block(
    wanted: ReplicaRun,
    directory: ReplicaDirectory,
    backend: InProcess | Workers,
    together: Lockstep,
    clock: ReplicaClock,
    block: Block,
) -> Iterator[ReplicaProgress]:
    trainings = wanted.trainings(block.start, block.stop)
    states: tuple[ServerState, ...] = block.states or tuple(together.start(trainings))
    rounds = max(state.round for state in states)
    clock.skip(*_done_before(states))
    clock.restart()
    for t in range(rounds, wanted.rounds):
        asked, ran, after = together.asked, together.run, []
        for state, log in together.round(trainings, states):
            after.append(state)
            if log is not None:
                clock.tick("first round" if t == 0 else "round")
            elif state.round < trainings[len(after) - 1].rounds:
                clock.skip(0, 1)  # its budget is spent
            yield clock.progress(together)
        states = tuple(after)
        block = replace(
            block,
            states=states,
            asked=block.asked + together.asked - asked,
            run=block.run + together.run - ran,
        )
        directory.save_block(block)
    if block.stop >= wanted.replicas:
        together.forget()
    arrays = {}
    for number, (setup, name) in enumerate(zip(wanted.variants.values(), wanted.variants, strict=True)):
        models = [state.parameters for state in states[number :: len(wanted.variants)]]
        for key, array in measured(setup, backend, models, clock):
            arrays[f"{name}/{key}"] = array
    directory.finish_block(block, arrays)
    yield clock.progress(together)


def _done_before(states: tuple[ServerState, ...]) -> tuple[int, int]:
    """First rounds and later rounds that an earlier session has done."""
    first = sum(state.round > 0 for state in states)
    return first, sum(state.round for state in states) - first
