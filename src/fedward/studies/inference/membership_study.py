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
from pathlib import Path
from typing import Any

import numpy as np

from fedward.attacks.inference import Membership, MembershipInference, Trial, ask, judge, train_trial
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.open import engine_in_words, open_backend
from fedward.backends.protocol import Backend
from fedward.base import json_lines as lines
from fedward.base.arrays_file import check_arrays, read_array, write_arrays
from fedward.base.durable_files import remove_leftovers, write_atomically
from fedward.base.validate import InvalidValue
from fedward.config.experiment import Experiment
from fedward.core.types import ServerState
from fedward.rundir import checkpoint
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import MembershipResult
from fedward.rundir.store import RunDirectory
from fedward.studies.inference.inference_files import (
    SaveClock,
    attack_manifest,
    load_state,
    require_no_attack,
    require_seeded_noise,
    state_spending,
)
from fedward.studies.progress import Clock, Progress
from fedward.studies.study import open_run_directory
from fedward.studies.training.setup import Setup, prepare


@dataclass(frozen=True, kw_only=True)
class MembershipRun:
    """An experiment to attack, and how; ``setup`` is made for trainings on halves."""

    setup: Setup
    config: MembershipInference

    def manifest(self, engine: str = "") -> Manifest:
        """What is run. Not how many trainings: more can be asked for later."""
        return attack_manifest(self.setup, {"kind": "membership", "unit": self.config.unit}, engine)

    open = open_run_directory

    def steps(self, place: RunDirectory, compute: Compute) -> Iterator[Progress]:
        return run_membership(self, place, compute)

    def result(self, place: RunDirectory) -> tuple[Membership, MembershipResult]:
        return finish_membership(self, place)


def prepare_membership(
    experiment: Experiment, config: MembershipInference, data_dir: Path | None = None
) -> MembershipRun:
    """Loads the data and makes every part; whatever cannot be attacked is an error here.

    Where users are in or out, half of them are expected to be in: the number of users that the experiment
    declares is halved, and with it divisors, noise and default δ.
    """
    require_no_attack(experiment)
    federation = experiment.load_data(data_dir)
    if config.unit == "user":
        half = experiment.declared_users(federation) // 2
        privacy = experiment.privacy.model_copy(update={"users": max(1, half)})
        experiment = experiment.model_copy(update={"privacy": privacy})
    setup = prepare(experiment, federation=federation)
    require_seeded_noise(setup)
    halves = config.halves(setup.algorithm, experiment.seed)
    halves.candidates(federation)
    if config.unit == "user":
        setup.algorithm.sampler.check(federation.num_users // 2)
    return MembershipRun(setup=setup, config=config)


def run_membership(
    wanted: MembershipRun,
    directory: RunDirectory,
    compute: Compute = IN_PROCESS,
) -> Iterator[Progress]:
    """Trains what is not finished yet; yields after every round."""
    setup, trials = wanted.setup, wanted.config.trials
    words = engine_in_words(setup.model, setup.federation, compute.check())
    directory.begin(wanted.manifest(words))
    remove_leftovers(directory.path)
    rounds = setup.experiment.rounds
    missing = [trial for trial in trials if _read_finished(directory.path, trial) is None]
    clock = Clock({"round": rounds * len(trials)})
    clock.skip("round", rounds * (len(trials) - len(missing)))
    if missing:
        with open_backend(setup.model, setup.federation, compute) as backend:
            for trial in missing:
                done = 0
                for state in _train(wanted, trial, directory.path, backend):
                    clock.skip("round", state.round - done - 1)  # of an earlier session
                    # The first round of a session also starts the workers.
                    clock.tick("round", measured=done > 0)
                    done = state.round
                    yield clock.progress()
                clock.skip("round", rounds - done)  # its budget is spent


def finish_membership(wanted: MembershipRun, directory: RunDirectory) -> tuple[Membership, MembershipResult]:
    """What the attacks find, from the files of finished trainings; writes it, and returns both forms."""
    found, rounds, setup = {}, 0, wanted.setup
    for trial in wanted.config.trials:
        stored = _read_finished(directory.path, trial)
        if stored is None:
            raise InvalidValue(f"{directory.path} must hold the scores of {trial}, got none: train it first")
        found[trial] = stored[0]
        # A budget may have ended trainings early; what privacy allows is about the longest that is attacked.
        rounds = max(rounds, stored[1]) if trial.kind == "target" else rounds
    judgement = judge(
        wanted.config, setup.algorithm, setup.federation, found, rounds=rounds, seed=setup.experiment.seed
    )
    users = setup.federation.num_users // (2 if wanted.config.unit == "user" else 1)
    about = state_spending(directory.path, setup, users, rounds)
    result = MembershipResult(**lines.replace_non_finite(judgement.to_json()), **about)
    directory.save_result(result)
    return judgement, result


def _train(wanted: MembershipRun, trial: Trial, path: Path, backend: Backend) -> Iterator[ServerState]:
    setup = wanted.setup
    experiment, federation, algorithm = setup.experiment, setup.federation, setup.algorithm
    file = path / f"checkpoint-{trial.kind}-{trial.number:03d}.pt"
    state = load_state(file)
    clock = SaveClock()
    steps = train_trial(
        wanted.config,
        trial,
        algorithm,
        setup.model,
        federation,
        backend,
        rounds=experiment.rounds,
        seed=experiment.seed,
        state=state,
        budget=experiment.make_budget(algorithm, federation),
    )
    for state in steps:
        if clock.due():
            write_atomically(file, checkpoint.to_bytes(state))
        yield state
    assert state is not None  # a budget covers the first round, or the training was refused
    sure = ask(backend, state.parameters, federation)
    write_arrays(_file(path, trial), {"confidence": sure, "rounds": np.array(state.round)})
    file.unlink(missing_ok=True)


def _file(path: Path, trial: Trial) -> Path:
    return path / f"scores-{trial.kind}-{trial.number:03d}.npz"


def _read_finished(path: Path, trial: Trial) -> tuple[np.ndarray[Any, np.dtype[np.float32]], int] | None:
    """What a finished training left, and how many rounds it had; None if it is not finished."""
    file = _file(path, trial)
    if not file.exists():
        return None
    try:
        check_arrays(file)
        return read_array(file, "confidence"), int(read_array(file, "rounds"))
    except InvalidValue as error:
        raise InvalidValue(f"{error}; remove it, and its training is run again") from error
