"""A session that trains replicas, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Protocol

from fedward.backends.protocol import Backend
from fedward.base.arrays_file import Arrays
from fedward.core.types import ServerState
from fedward.lockstep.lockstep import Lockstep
from fedward.rundir.replica_store import Block
from fedward.studies.progress import Clock, Progress
from fedward.studies.replicas.replica_results import measure_replicas
from fedward.studies.replicas.replica_setup import ReplicaRun


class Blocks(Protocol):
    """Where blocks are stored: ``ReplicaDirectory``."""

    @property
    def finished(self) -> list[tuple[int, int]]: ...

    def save_block(self, block: Block) -> None: ...

    def finish_block(self, block: Block, arrays: Arrays, draw: str) -> None: ...


@dataclass(kw_only=True)
class Work:
    """What a session has to do, and what is done.

    Args:
      wanted: the replicas.
      directory: where they are stored.
      clock: counts their steps.
      stop: the replica after the last of this session.
      finished: how many there are, those of earlier sessions included.
      accuracy: of each variant, for the replicas of this session.
    """

    wanted: ReplicaRun
    directory: Blocks
    clock: Clock
    stop: int
    finished: int = 0
    accuracy: dict[str, list[float]] = field(default_factory=dict)

    def finish(self, block: Block, arrays: Arrays) -> None:
        """Stores a block that is trained and measured."""
        self.directory.finish_block(block, arrays, self.wanted.draw)
        for name in self.wanted.variants:
            self.accuracy.setdefault(name, []).extend(arrays[f"{name}/accuracy"].tolist())
        self.finished += block.stop - block.start

    def progress(self, asked: int, run: int) -> Progress:
        """Where it stands."""
        means = {name: fmean(values) for name, values in self.accuracy.items()}
        return self.clock.progress(asked=asked, run=run, finished=self.finished, accuracy=means)


@dataclass
class BlockSession:
    """Trains blocks with one backend, trainings of a block side by side."""

    work: Work
    backend: Backend
    together: Lockstep

    def run_block(self, block: Block) -> Iterator[Progress]:
        """Trains the replicas of a block from wherever they were left, and stores what they say."""
        wanted, together, clock = self.work.wanted, self.together, self.work.clock
        variants, trainings = wanted.variants, wanted.trainings(block.start, block.stop)
        states: Sequence[ServerState] = block.states or together.start(trainings)
        rounds = max(state.round for state in states)
        # Rounds that earlier sessions have done, or left out as a budget was spent.
        passed = [min(training.rounds, rounds) for training in trainings]
        first = sum(count > 0 for count in passed)
        clock.skip("first round", first)
        clock.skip("round", sum(passed) - first)
        for t in range(rounds, wanted.rounds):
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
            self.work.directory.save_block(block)
        if block.stop >= self.work.stop:
            together.forget()
        arrays: Arrays = {}
        for number, (name, setup) in enumerate(variants.items()):
            models = [state.parameters for state in states[number :: len(variants)]]
            found = yield from measure_replicas(setup, self.backend, models, self._tick)
            arrays |= {f"{name}/{key}": array for key, array in found.items()}
        self.work.finish(block, arrays)
        clock.charge("evaluation", steps=len(states))
        yield self._progress()

    def _tick(self, kind: str) -> Progress:
        """A step is done."""
        self.work.clock.tick(kind)
        return self._progress()

    def _progress(self) -> Progress:
        return self.work.progress(self.together.asked, self.together.run)
