"""Trainings of a sweep on a cluster: each is one task, whose rounds are reserved here before it leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fedward.backends.ray.attempts import Attempts
from fedward.backends.ray.cluster_jobs import ClusterJobs
from fedward.backends.ray.position_notes import Watch
from fedward.config.sweep_section import Point
from fedward.core.failure import TrainingFailed
from fedward.core.reserve_ahead import reserve_ahead
from fedward.core.types import Job
from fedward.lockstep.lockstep import Lockstep, Training
from fedward.lockstep.sharing import Key
from fedward.rundir.arriving import finish_elsewhere
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.progress import Clock, Progress
from fedward.studies.replicas.stored_rows import store_rows
from fedward.studies.sweep.training_task import run_training
from fedward.studies.training.setup import Setup
from fedward.studies.training.training_study import manifest

Members = Mapping[str, tuple[Point, Setup]]
"""Points of a sweep on one federation and with one model, by the names of their directories."""


def goes_there(path: Path, setup: Setup) -> bool:
    """Whether a training runs on a node from its first round to its last.

    One that has finished a round here goes on round by round, as does one whose noise comes from system
    entropy: that is drawn at the driver, which reserves every round before.
    """
    begun = (path / "checkpoint.pt").exists() or (path / "result.json").exists()
    return not begun and setup.algorithm.noise_source == "seeded"


class ClusterTrainings:
    """The driver's half.

    Args:
      members: what is trained.
      path: the directory of the sweep.
      backend: the cluster, with the setups by their names in its world.
      clock: counts rounds.
    """

    def __init__(self, members: Members, path: Path, backend: ClusterJobs, clock: Clock) -> None:
        self._members, self._path, self._backend, self._clock = members, path, backend, clock
        self._attempts = Attempts()
        self._rows: list[Any] = []
        # The directories of those under way, each kept from other processes.
        self._places: dict[str, tuple[ExitStack, RunDirectory]] = {}
        self.asked = self.run = 0

    def steps(self) -> Iterator[Progress]:
        """Trains; yields when a training has arrived and is stored."""
        jobs = self._shared_jobs()
        rows = zip(jobs, self._backend.train(jobs.values()), strict=True)
        for number, reference in store_rows(rows) if jobs else ():
            if reference is not None:
                self._rows = [reference]
            else:
                self.run = number
        task, waiting = self._backend.remote(run_training), list(self._members)
        try:
            while waiting or len(self._attempts):
                slots = self._backend.slots
                while waiting and len(self._attempts) < slots + max(1, slots // 4):
                    self._send(task, waiting.pop(0))
                for attempt, answer in self._attempts.take():
                    yield self._take(attempt.about, answer)
        finally:
            self._attempts.close()
            for stack, _ in self._places.values():
                stack.close()

    def _send(self, task: Any, name: str) -> None:
        content = self._begin(name)

        def submit(content: bytes, watch: Watch | None) -> Any:
            return task.remote(self._backend.world, self._rows, name, content, watch)

        self._attempts.start(partial(submit, content), name)

    def _begin(self, name: str) -> bytes:
        """Reserves all rounds of a training in its directory, before it leaves; returns its ``run.json``."""
        setup, stack = self._members[name][1], ExitStack()
        place = stack.enter_context(open_run(self._path / name))
        self._places[name] = stack, place
        place.begin(manifest(setup, setup.engine(self._backend.compute)))
        algorithm, people = setup.algorithm, setup.federation.roster
        state = algorithm.init(setup.parameters, num_users=people.num_users)
        ahead = reserve_ahead(
            algorithm,
            place.with_reservation(state),
            people,
            rounds=setup.experiment.rounds,
            seed=setup.experiment.seed,
            budget=setup.budget,
        )
        place.reserve(ahead.ledger, ahead.users)
        return (place.path / "run.json").read_bytes()

    def _take(self, name: str, answer: Any) -> Progress:
        """Stores a training that has arrived."""
        point, setup = self._members[name]
        if isinstance(answer, TrainingFailed):
            raise TrainingFailed(f"{point.combination}: {answer}") from answer
        if isinstance(answer, Exception):
            raise answer
        stack, place = self._places.pop(name)
        with stack:
            finish_elsewhere(place, answer["files"])
        self.asked, self.run = self.asked + answer["asked"], self.run + answer["run"]
        rounds = setup.experiment.rounds
        self._clock.tick_together("round", rounds)
        found = self._clock.progress(name=point.combination, rounds=rounds, metrics=answer["metrics"])
        return replace(found, blocks=len(self._attempts))

    def _shared_jobs(self) -> dict[Key, Job]:
        """The distinct jobs of the first round that more than one training asks for."""
        found: dict[Key, Job] = {}
        shared: set[Key] = set()
        for _, setup in self._members.values():
            together = Lockstep(setup.model, setup.federation, self._backend, seed=setup.experiment.seed)
            training = Training(
                algorithm=setup.algorithm,
                rounds=setup.experiment.rounds,
                adversary=setup.attack.adversary if setup.attack else None,
                budget=setup.budget,
            )
            for named in together.first_jobs([training]):
                shared.update(name for name, _ in named if name in found)
                for name, job in named:
                    found.setdefault(name, job)
        return {name: job for name, job in found.items() if name in shared}
