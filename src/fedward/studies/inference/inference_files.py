"""Helpers of attacks on trainings: checks of the experiment, and the files of the run directory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from fedward.base.durable_files import write_atomically
from fedward.base.validate import InvalidValue
from fedward.config.experiment import Experiment
from fedward.core.types import ServerState
from fedward.privacy import ledger_file
from fedward.privacy.caveats import add_caveat
from fedward.rundir import checkpoint
from fedward.rundir.manifest import Manifest
from fedward.rundir.spent import guarantee_of_server
from fedward.studies.training.setup import Setup
from fedward.studies.training.training_study import manifest

SAVE_EVERY = 5.0
"""Seconds between checkpoints of the training under way: what a kill may lose, besides a round."""


class SaveClock:
    """When the state of a training is worth a file again."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def due(self) -> bool:
        now = time.monotonic()
        if now - self._last < SAVE_EVERY:
            return False
        self._last = now
        return True


def load_state(file: Path) -> ServerState | None:
    """The state of the training under way; None if there is none."""
    return checkpoint.from_bytes(file.read_bytes(), str(file)) if file.exists() else None


def require_no_attack(experiment: Experiment) -> None:
    """Inference attacks have their own attacker."""
    if experiment.attack is not None:
        raise InvalidValue("inference attacks need an experiment without an [attack] table, got one with it")


def require_seeded_noise(setup: Setup) -> None:
    """Attacks are simulated, and must come out the same after a kill."""
    if setup.algorithm.noise_source == "system":
        raise InvalidValue("inference attacks are simulated and need seeded noise, got system entropy")


def attack_manifest(setup: Setup, about: dict[str, Any], engine: str) -> Manifest:
    """The manifest of a run that is not a single training but attacks on some."""
    found = manifest(setup, engine)
    return found.model_copy(update={"experiment": {**found.experiment, "inference": about}})


def state_spending(path: Path, setup: Setup, num_users: int, rounds: int) -> dict[str, Any]:
    """Writes the ledger of one training of so many users and rounds; its guarantee, for the result."""
    ledger = setup.algorithm.spent(num_users, rounds)
    found = add_caveat(guarantee_of_server(ledger, setup.delta, setup.accountant), setup.caveat)
    write_atomically(path / "ledger.json", ledger_file.dumps(ledger).encode())
    return {"guarantee": found, "statement": str(found)}
