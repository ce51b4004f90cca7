"""The trainings of an inference attack: checked, kept in a run directory while they go on, and summed up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fedward.backends.compute import Compute
from fedward.backends.open import open_backend
from fedward.backends.protocol import Backend
from fedward.base import json_lines as lines
from fedward.base.arrays_file import Arrays
from fedward.base.limited_files import read_archive
from fedward.base.validate import InvalidValue
from fedward.config.experiment import Experiment
from fedward.core.federation import Federation
from fedward.core.types import ServerState
from fedward.privacy import ledger_file
from fedward.privacy.caveats import add_caveat
from fedward.privacy.remembered import guarantee_or_rdp
from fedward.rundir import checkpoint
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import InferenceResult
from fedward.rundir.run_files import RunFiles
from fedward.rundir.store import RunDirectory
from fedward.studies.progress import Clock, Progress
from fedward.studies.training.setup import Setup, prepare
from fedward.studies.training.training_study import manifest

SAVE_EVERY = 5.0
"""Seconds between checkpoints of the training under way: what a kill may lose, besides a round."""

Found = TypeVar("Found", bound=InferenceResult)


@dataclass(frozen=True, kw_only=True)
class AttackedTraining:
    """One training that an attack needs.

    Args:
      files: of the run.
      checkpoint: the name of the file of its state while it is under way.
      scores: the name of the file that it leaves when it is finished.
      rounds: its states round by round, from the options of ``train``.
      ask: what is kept of the state after the last one.
    """

    files: RunFiles
    checkpoint: str
    scores: str
    rounds: Callable[..., Iterator[ServerState]]
    ask: Callable[[Backend, ServerState], Arrays]

    def run(self, setup: Setup, backend: Backend) -> Iterator[ServerState]:
        """Trains from wherever it was left; yields after every round."""
        file, state, saved = self.files.path / self.checkpoint, None, time.monotonic()
        if file.exists():
            state = checkpoint.from_bytes(read_archive(file), str(file))
        steps = self.rounds(
            backend=backend,
            rounds=setup.experiment.rounds,
            seed=setup.experiment.seed,
            state=state,
            budget=setup.experiment.make_budget(setup.algorithm, setup.federation),
        )
        for state in steps:
            if time.monotonic() - saved >= SAVE_EVERY:
                self.files.write(self.checkpoint, checkpoint.to_bytes(state), private=True)
                saved = time.monotonic()
            yield state
        assert state is not None  # a budget covers the first round, or the training was refused
        self.files.write_arrays(self.scores, self.ask(backend, state))
        self.forget()

    def forget(self) -> None:
        """Removes the state of a finished training, also one that was killed before it could do so."""
        self.files.remove(self.checkpoint)


def load_unattacked(experiment: Experiment, data_dir: Path | None) -> Federation:
    """The data of an experiment without attackers: inference attacks have their own."""
    if experiment.attack is not None:
        raise InvalidValue("inference attacks need an experiment without an [attack] table, got one with it")
    return experiment.load_data(data_dir)


def prepare_seeded(experiment: Experiment, federation: Federation) -> Setup:
    """The experiment made ready; attacks are simulated, and must come out the same after a kill."""
    setup = prepare(experiment, federation=federation)
    if setup.algorithm.noise_source == "system":
        raise InvalidValue("inference attacks are simulated and need seeded noise, got system entropy")
    return setup


def manifest_of(setup: Setup, about: dict[str, Any], engine: str) -> Manifest:
    """The manifest of a run that is not a single training but attacks on some."""
    found = manifest(setup, engine)
    return found.model_copy(update={"experiment": {**found.experiment, "inference": about}})


def run_trainings(
    setup: Setup, missing: Sequence[AttackedTraining], total: int, compute: Compute
) -> Iterator[Progress]:
    """Runs those that are missing of so many trainings; yields after every round."""
    rounds = setup.experiment.rounds
    clock = Clock({"round": rounds * total})
    clock.skip("round", rounds * (total - len(missing)))
    if not missing:
        return
    with open_backend(setup.model, setup.federation, compute) as backend:
        for training in missing:
            done = 0
            for state in training.run(setup, backend):
                clock.skip("round", state.round - done - 1)  # of an earlier session
                # The first round of a session also starts the workers.
                clock.tick("round", measured=done > 0)
                done = state.round
                yield clock.progress()
            clock.skip("round", rounds - done)  # its budget is spent


def save_result(
    place: RunDirectory, setup: Setup, kind: type[Found], found: dict[str, Any], users: int, rounds: int
) -> Found:
    """Stores what attacks found, with what one training of so many users and rounds has spent."""
    ledger = setup.algorithm.spent(users, rounds)
    guarantee = add_caveat(guarantee_or_rdp(ledger, setup.delta, setup.accountant), setup.caveat)
    place.files.write("ledger.json", ledger_file.dumps(ledger).encode())
    result = kind(**lines.replace_non_finite(found), guarantee=guarantee, statement=str(guarantee))
    place.save_result(result)
    return result
