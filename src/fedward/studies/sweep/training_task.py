"""A node's half of a sweep: one training, from its first round to its result."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fedward.backends.compute import Compute
from fedward.backends.in_process import InProcess
from fedward.backends.processes.worker_failures import describe_failure
from fedward.backends.protocol import Backend
from fedward.backends.ray.chunk_tasks import World
from fedward.backends.ray.node_memory import held
from fedward.backends.ray.position_notes import Watch
from fedward.backends.ray.shipped import unship
from fedward.core.types import Job, Row
from fedward.lockstep.first_rows import GivenRows
from fedward.lockstep.sharing import Keys
from fedward.rundir.arriving import read_files
from fedward.rundir.store import open_run
from fedward.studies.replicas.block_task import Watched
from fedward.studies.replicas.stored_rows import read_rows
from fedward.studies.training.training_study import TrainingStudy


def run_training(
    world: Sequence[Any], rows: Sequence[Any], name: str, manifest: bytes, watch: Watch | None
) -> dict[str, Any]:
    """Trains one point of a sweep in a directory of its own and returns its files.

    Args:
      world: one reference to what all trainings are about, whose ``about`` has the setup of each by its name.
      rows: one reference to the rows of the first round that are there already; none where there are none.
      name: which training.
      manifest: its ``run.json``.
      watch: where each job is noted before it runs; None for nowhere.
    """
    try:
        return {**_run(held(world[0], unship), rows, name, manifest, watch), "failure": None}
    except Exception as error:
        return {"failure": describe_failure(error, None)}


def _run(
    world: World, rows: Sequence[Any], name: str, manifest: bytes, watch: Watch | None
) -> dict[str, Any]:
    world.prepare()
    backend: Backend = InProcess(world.module, world.federation, world.device, world.engine)
    backend = backend if watch is None else Watched(backend, watch)
    given = WithGivenRows(backend, read_rows(rows[0]) if rows else None)
    study = TrainingStudy(setup=world.about[name], begun=True)
    compute = Compute(workers=0, device=world.device, engine=world.engine)
    metrics = None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        with open_run(path) as place:
            place.files.write("run.json", manifest, private=True)
            for step in study.steps(place, compute, backend=given):
                metrics = step.metrics
        files = read_files(path)
    return {"files": files, "asked": given.asked, "run": given.run, "metrics": metrics}


class WithGivenRows:
    """A backend for one training, some of whose rows are there already.

    Args:
      backend: runs all other jobs.
      given: the rows; None for none.
    """

    def __init__(self, backend: Backend, given: GivenRows | None) -> None:
        self._backend, self._given = backend, given
        self._keys = Keys()
        self.evaluate, self.evaluate_many = backend.evaluate, backend.evaluate_many
        self.confidences, self.close = backend.confidences, backend.close
        self.asked = self.run = 0

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        for job in jobs:
            self.asked += 1
            name = None if self._given is None or job.round else self._keys.of(job)
            if self._given is not None and name is not None and name in self._given:
                yield self._given.get(name)
            else:
                self.run += 1
                yield from self._backend.train([job])
