"""Property inference on an experiment, round by round, in a run directory.

run.json                 what is attacked: the experiment, digests of its data, versions
ledger.json              what the training has spent
checkpoint.pt            the state of the training under way
scores-round-NUMBER.npz  what the attacker saw and simulated in a round
scores-final.npz         how many rounds the finished training had, and its accuracy
result.json              what it found
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from fedward.attacks.inference import Property, PropertyInference, deal, judge_rounds, property_rounds
from fedward.attacks.inference.dealing import require_property
from fedward.attacks.inference.participant import Observation
from fedward.attacks.inference.property import check_property
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.open import engine_in_words, open_backend
from fedward.backends.protocol import Backend
from fedward.base import json_lines as lines
from fedward.base.arrays_file import check_arrays, read_arrays, write_arrays
from fedward.base.durable_files import remove_leftovers, write_atomically
from fedward.base.validate import InvalidValue
from fedward.config.experiment import Experiment
from fedward.core.digest import tensor_digest
from fedward.rundir import checkpoint
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import PropertyResult
from fedward.rundir.store import RunDirectory
from fedward.studies.inference.inference_files import (
    SaveClock,
    attack_manifest,
    load_state,
    require_no_attack,
    require_seeded_noise,
    state_spending,
)
from fedward.studies.inference.properties import read_property
from fedward.studies.progress import Clock, Progress
from fedward.studies.study import open_run_directory
from fedward.studies.training.setup import Setup, prepare

_FINAL = "scores-final.npz"


@dataclass(frozen=True, kw_only=True)
class PropertyRun:
    """An experiment to attack, which of its training examples have the property, and how to attack it."""

    setup: Setup
    config: PropertyInference
    has_property: Tensor

    def manifest(self, engine: str = "") -> Manifest:
        """What is run. The classifier is trained in the end, from what is stored: it may change."""
        later = ("trees", "warm_up")
        config = {key: value for key, value in asdict(self.config).items() if key not in later}
        about = {"kind": "property", "property": tensor_digest(self.has_property), **config}
        return attack_manifest(self.setup, about, engine)

    open = open_run_directory

    def steps(self, place: RunDirectory, compute: Compute) -> Iterator[Progress]:
        return run_property(self, place, compute)

    def result(self, place: RunDirectory) -> tuple[Property, PropertyResult]:
        return finish_property(self, place)


def prepare_property(
    experiment: Experiment,
    config: PropertyInference,
    which: str,
    *,
    users: int | None = None,
    data_dir: Path | None = None,
) -> PropertyRun:
    """Loads the data and makes every part; whatever cannot be attacked is an error here.

    Args:
      which: the property: a name that the data set has for it, a ``.npy`` file with a bool for each training
        example of the federation, in its order, or ``label:C`` for all examples of class C.
      users: deals the examples anew to so many users, as Miao et al. do; None leaves them where they are.
    """
    require_no_attack(experiment)
    federation = experiment.load_data(data_dir)
    having = require_property(federation, read_property(which, experiment, federation, data_dir))
    if users is not None:
        federation, having = deal(
            federation,
            having,
            users=users,
            seed=experiment.seed,
            attacker=config.attacker,
            victim=config.victim,
        )
    check_property(config, federation, having, rounds=experiment.rounds)
    setup = prepare(experiment, federation=federation)
    require_seeded_noise(setup)
    return PropertyRun(setup=setup, config=config, has_property=having)


def run_property(
    wanted: PropertyRun,
    directory: RunDirectory,
    compute: Compute = IN_PROCESS,
) -> Iterator[Progress]:
    """Trains and watches what is left of the training; yields after every round."""
    setup = wanted.setup
    words = engine_in_words(setup.model, setup.federation, compute.check())
    directory.begin(wanted.manifest(words))
    remove_leftovers(directory.path)
    if (directory.path / _FINAL).exists():
        return
    with open_backend(setup.model, setup.federation, compute) as backend:
        yield from _run(wanted, directory.path, backend)


def _run(wanted: PropertyRun, path: Path, backend: Backend) -> Iterator[Progress]:
    setup = wanted.setup
    experiment, federation, algorithm = setup.experiment, setup.federation, setup.algorithm
    file = path / "checkpoint.pt"
    state, save = load_state(file), SaveClock()
    done = 0 if state is None else state.round
    clock = Clock({"round": experiment.rounds})
    clock.skip("round", done)
    steps = property_rounds(
        wanted.config,
        algorithm,
        setup.model,
        federation,
        wanted.has_property,
        backend,
        rounds=experiment.rounds,
        seed=experiment.seed,
        state=state,
        budget=experiment.make_budget(algorithm, federation),
    )
    for state, observation in steps:
        # The snapshot first: a state on disk has all snapshots before it beside it.
        _save(path, observation)
        if save.due():
            write_atomically(file, checkpoint.to_bytes(state))
        clock.tick("round", measured=state.round > done + 1)
        yield clock.progress()
    assert state is not None  # a budget covers the first round, or the training was refused
    test = federation.test
    accuracy = np.nan if test is None else backend.evaluate(state.parameters, test).accuracy
    write_arrays(path / _FINAL, {"rounds": np.array(state.round), "accuracy": np.array(accuracy)})
    file.unlink(missing_ok=True)


def finish_property(wanted: PropertyRun, directory: RunDirectory) -> tuple[Property, PropertyResult]:
    """What the attacker finds, from the files of a finished training; writes it, and returns both forms."""
    setup, config, path = wanted.setup, wanted.config, directory.path
    if not (path / _FINAL).exists():
        raise InvalidValue(f"{path} must hold a finished training, got none: train it first")
    final = read_arrays(path / _FINAL)
    rounds, accuracy = int(final["rounds"]), float(final["accuracy"])
    found = judge_rounds(
        setup.algorithm,
        setup.federation.num_users,
        [_load(path, round) for round in range(rounds)],
        seed=setup.experiment.seed,
        trees=config.trees,
        warm_up=config.warm_up,
    )
    about = state_spending(directory.path, setup, setup.federation.num_users, rounds)
    result = PropertyResult(**lines.replace_non_finite(found.to_json() | {"accuracy": accuracy}), **about)
    directory.save_result(result)
    return found, result


def _file(path: Path, round: int) -> Path:
    return path / f"scores-round-{round:06d}.npz"


def _save(path: Path, seen: Observation) -> None:
    arrays = {"truth": np.array(seen.truth), "seen": seen.seen, "simulated": seen.simulated}
    write_arrays(_file(path, seen.round), arrays)


def _load(path: Path, round: int) -> Observation:
    file = _file(path, round)
    if not file.exists():
        raise InvalidValue(f"{path} must hold the snapshot of round {round}, got none: start again elsewhere")
    check_arrays(file)
    arrays = read_arrays(file)
    return Observation(
        round=round, truth=bool(arrays["truth"]), seen=arrays["seen"], simulated=arrays["simulated"]
    )
