"""The study of a federation: one training, whose jobs run at nodes, in a run directory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from fedward.core.types import ServerState
from fedward.deploy.server.attendance import Attendance
from fedward.deploy.server.federated_backend import FederatedBackend
from fedward.deploy.server.federated_setup import FederatedSetup
from fedward.deploy.server.message_transport import Transport
from fedward.rundir.run_record import RunRecord, load
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.progress import Progress
from fedward.studies.training.training_steps import training_steps


@dataclass(frozen=True, kw_only=True)
class FederatedTraining:
    """A training of the declared users, over whatever carries messages to their nodes.

    Every round waits for enough nodes before it is planned, so that no cohort is drawn and nothing is spent
    while the network is down. It is the same ``training_steps`` as that of a simulation.
    """

    setup: FederatedSetup
    transport: Transport
    sleep: Callable[[float], object] = time.sleep

    def open(self) -> AbstractContextManager[RunDirectory]:
        """Locks the run directory; a second server is refused."""
        return open_run(self.setup.file.out)

    def steps(self, place: RunDirectory) -> Iterator[Progress]:
        """Runs or resumes; yields after every round. A finished run is left as it is."""
        setup, file = self.setup, self.setup.file
        place.begin(setup.manifest)
        if place.result() is not None:
            return
        attendance = Attendance(
            self.transport,
            file.population,
            greeting=setup.greeting,
            deadline=file.deadline,
            sleep=self.sleep,
        )
        backend = FederatedBackend(
            setup.model, file.population, self.transport, attendance, deadline=file.deadline
        )

        def before(state: ServerState) -> None:
            attendance.wait_for(file.least_nodes, file.wait)
            backend.terms = setup.terms(state)

        yield from training_steps(setup, backend, place, before)

    def result(self, place: RunDirectory) -> RunRecord:
        """What came out, from what is stored."""
        found = load(place.path)
        assert isinstance(found, RunRecord)  # it has just been run
        return found
