"""Membership inference on an experiment: trainings on random halves, kept one by one in a run directory.

run.json                   what is attacked: the experiment, digests of its data, versions
ledger.json                what one of the trainings has spent
checkpoint-KIND-NUMBER.pt  the training under way
scores-KIND-NUMBER.npz     how sure each finished model is of every example of the federation
result.json                what the attacks found
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fedward.attacks.inference import Membership, MembershipInference, Trial, ask, judge, train_trial
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.protocol import Backend
from fedward.base.arrays_file import Arrays, check_arrays, read_array
from fedward.base.validate import InvalidValue, add_to_errors
from fedward.config.experiment import Experiment
from fedward.core.federation import Federation
from fedward.core.types import ServerState
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import MembershipResult
from fedward.rundir.run_files import RunFiles
from fedward.rundir.store import RunDirectory
from fedward.studies.inference import attacked_trainings as attacked
from fedward.studies.progress import Progress
from fedward.studies.study import open_run_directory
from fedward.studies.training.setup import Setup


@dataclass(frozen=True, kw_only=True)
class MembershipRun:
    """An experiment to attack, and how; ``setup`` is made for trainings on halves."""

    setup: Setup
    config: MembershipInference

    open = open_run_directory

    def manifest(self, engine: str = "") -> Manifest:
        """What is run. Not how many trainings: more can be asked for later."""
        return attacked.manifest_of(self.setup, {"kind": "membership", "unit": self.config.unit}, engine)

    def steps(self, place: RunDirectory, compute: Compute = IN_PROCESS) -> Iterator[Progress]:
        """Trains what is not finished yet; yields after every round."""
        place.begin(self.manifest(self.setup.engine(compute)))
        trials, path = self.config.trials, place.path
        missing = []
        for trial in trials:
            training = self._training(trial, place.files)
            if _read_finished(path, trial) is None:
                missing.append(training)
            else:
                training.forget()
        yield from attacked.run_trainings(self.setup, missing, len(trials), compute)

    def _training(self, trial: Trial, files: RunFiles) -> attacked.AttackedTraining:
        def confidence(backend: Backend, state: ServerState) -> Arrays:
            sure = ask(backend, state.parameters, self.setup.federation)
            return {"confidence": sure, "rounds": np.array(state.round)}

        setup = self.setup
        return attacked.AttackedTraining(
            files=files,
            checkpoint=f"checkpoint-{trial.kind}-{trial.number:03d}.pt",
            scores=_file(files.path, trial).name,
            rounds=partial(train_trial, self.config, trial, setup.algorithm, setup.model, setup.federation),
            ask=confidence,
        )

    def result(self, place: RunDirectory) -> tuple[Membership, MembershipResult]:
        """What the attacks find, from the files of finished trainings; stored, and in both forms."""
        judgement, rounds = self.judge_stored(place.path)
        setup = self.setup
        users = setup.federation.num_users // (2 if self.config.unit == "user" else 1)
        content = judgement.to_json()
        return judgement, attacked.save_result(place, setup, MembershipResult, content, users, rounds)

    def judge_stored(self, path: Path) -> tuple[Membership, int]:
        """What the attacks find, from the files of finished trainings; and of how many rounds these are."""
        found, rounds, setup = {}, 0, self.setup
        for trial in self.config.trials:
            stored = _read_finished(path, trial)
            if stored is None:
                raise InvalidValue(f"{path} must hold the scores of {trial}, got none: train it first")
            found[trial] = stored[0]
            # A budget may have ended trainings early; what privacy allows is about the longest attacked one.
            rounds = max(rounds, stored[1]) if trial.kind == "target" else rounds
        judgement = judge(
            self.config, setup.algorithm, setup.federation, found, rounds=rounds, seed=setup.experiment.seed
        )
        return judgement, rounds


def prepare_membership(
    experiment: Experiment,
    config: MembershipInference,
    data_dir: Path | None = None,
    federation: Federation | None = None,
) -> MembershipRun:
    """Loads the data and makes every part; whatever cannot be attacked is an error here.

    Where users are in or out, half of them are expected to be in: the number of users that the experiment
    declares is halved, and with it divisors, noise and default δ. ``federation`` is the experiment's data
    where it has been loaded before.
    """
    if federation is None:
        federation = attacked.load_unattacked(experiment, data_dir)
    if config.unit == "user":
        half = experiment.declared_users(federation) // 2
        privacy = experiment.privacy.model_copy(update={"users": max(1, half)})
        experiment = experiment.model_copy(update={"privacy": privacy})
    setup = attacked.prepare_seeded(experiment, federation)
    halves = config.halves(setup.algorithm, experiment.seed)
    halves.candidates(federation)
    if config.unit == "user":
        setup.algorithm.sampler.check(federation.num_users // 2)
    return MembershipRun(setup=setup, config=config)


def _file(path: Path, trial: Trial) -> Path:
    return path / f"scores-{trial.kind}-{trial.number:03d}.npz"


def _read_finished(path: Path, trial: Trial) -> tuple[np.ndarray[Any, np.dtype[np.float32]], int] | None:
    """What a finished training left, and how many rounds it had; None if it is not finished."""
    file = _file(path, trial)
    if not file.exists():
        return None
    with add_to_errors(after="; remove it, and its training is run again"):
        check_arrays(file)
        return read_array(file, "confidence"), int(read_array(file, "rounds"))
