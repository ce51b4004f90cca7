"""Property inference on an experiment, round by round, in a run directory.

run.json                 what is attacked: the experiment, digests of its data, versions
ledger.json              what the training has spent
checkpoint.pt            the state of the training under way
scores-round-NUMBER.npz  what the attacker saw and simulated in a round
scores-final.npz         how many rounds the finished training had, and its accuracy
result.json              what it found
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.inference import Property, PropertyInference, deal, judge_rounds, property_rounds
from fedward.attacks.inference.dealing import require_property
from fedward.attacks.inference.participant import Observation
from fedward.attacks.inference.property import check_property
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.protocol import Backend
from fedward.base.arrays_file import Arrays, check_arrays, read_arrays
from fedward.base.limited_files import read_limited
from fedward.base.validate import InvalidValue
from fedward.config.experiment import Experiment
from fedward.core.digest import tensor_digest
from fedward.core.federation import Federation
from fedward.core.types import ServerState
from fedward.datasets import PROPERTIES
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import PropertyResult
from fedward.rundir.run_files import RunFiles
from fedward.rundir.store import RunDirectory
from fedward.studies.inference import attacked_trainings as attacked
from fedward.studies.progress import Progress
from fedward.studies.study import open_run_directory
from fedward.studies.training.setup import Setup

_FINAL = "scores-final.npz"


@dataclass(frozen=True, kw_only=True)
class PropertyRun:
    """An experiment to attack, which of its training examples have the property, and how to attack it."""

    setup: Setup
    config: PropertyInference
    has_property: Tensor

    open = open_run_directory

    def manifest(self, engine: str = "") -> Manifest:
        """What is run. The classifier is trained in the end, from what is stored: it may change."""
        later = ("trees", "warm_up")
        config = {key: value for key, value in asdict(self.config).items() if key not in later}
        about = {"kind": "property", "property": tensor_digest(self.has_property), **config}
        return attacked.manifest_of(self.setup, about, engine)

    def steps(self, place: RunDirectory, compute: Compute = IN_PROCESS) -> Iterator[Progress]:
        """Trains and watches what is left of the training; yields after every round."""
        place.begin(self.manifest(self.setup.engine(compute)))
        training = attacked.AttackedTraining(
            files=place.files,
            checkpoint="checkpoint.pt",
            scores=_FINAL,
            rounds=partial(self._watch, place.files),
            ask=self._accuracy,
        )
        missing = [training]
        if (place.path / _FINAL).exists():
            missing = []
            training.forget()
        yield from attacked.run_trainings(self.setup, missing, 1, compute)

    def _watch(self, files: RunFiles, **options: Any) -> Iterator[ServerState]:
        parts = self.setup.algorithm, self.setup.model, self.setup.federation, self.has_property
        for state, seen in property_rounds(self.config, *parts, **options):
            # The snapshot first: a state on disk has all snapshots before it beside it.
            arrays = {"truth": np.array(seen.truth), "seen": seen.seen, "simulated": seen.simulated}
            files.write_arrays(_file(files.path, seen.round).name, arrays)
            yield state

    def _accuracy(self, backend: Backend, state: ServerState) -> Arrays:
        test = self.setup.federation.test
        accuracy = np.nan if test is None else backend.evaluate(state.parameters, test).accuracy
        return {"rounds": np.array(state.round), "accuracy": np.array(accuracy)}

    def result(self, place: RunDirectory) -> tuple[Property, PropertyResult]:
        """What the attacker finds, from the files of a finished training; stored, and in both forms."""
        setup, path, users = self.setup, place.path, self.setup.federation.num_users
        if not (path / _FINAL).exists():
            raise InvalidValue(f"{path} must hold a finished training, got none: train it first")
        final = read_arrays(path / _FINAL)
        rounds, accuracy = int(final["rounds"]), float(final["accuracy"])
        found = judge_rounds(
            setup.algorithm,
            users,
            [_load(path, round) for round in range(rounds)],
            seed=setup.experiment.seed,
            trees=self.config.trees,
            warm_up=self.config.warm_up,
        )
        content = found.to_json() | {"accuracy": accuracy}
        return found, attacked.save_result(place, setup, PropertyResult, content, users, rounds)


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
    federation = attacked.load_unattacked(experiment, data_dir)
    having = require_property(federation, _read_property(which, experiment, federation, data_dir))
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
    setup = attacked.prepare_seeded(experiment, federation)
    return PropertyRun(setup=setup, config=config, has_property=having)


def _read_property(
    which: str, experiment: Experiment, federation: Federation, data_dir: Path | None
) -> Tensor:
    """Which training examples have the property: by name, from a file, or by class."""
    if which.startswith("label:"):
        name = which.removeprefix("label:")
        if not name.isdecimal() or int(name) >= federation.num_classes:
            raise InvalidValue(
                f"class of the property must be from 0 to {federation.num_classes - 1}, got {name!r}"
            )
        return federation.examples.y == int(name)
    path, section = Path(which), experiment.data
    if path.suffix != ".npy":
        if section.part not in PROPERTIES:
            raise InvalidValue(
                f"property must be a .npy file or label:CLASS, as {section.part} has no names for any, "
                f"got {which!r}"
            )
        # Features of the pictures change nothing about who is on them.
        options = {name: value for name, value in section if name not in (section.tag, "public_features")}
        if data_dir is not None:
            options["data_dir"] = data_dir
        named: Tensor = PROPERTIES[section.part](which, seed=experiment.seed, **options)[0]
        return named
    try:
        return torch.from_numpy(np.load(io.BytesIO(read_limited(path)), allow_pickle=False))
    except FileNotFoundError:
        raise InvalidValue(f"there is no file {path}") from None
    except (OSError, ValueError, TypeError) as error:
        raise InvalidValue(f"{path} cannot be read as an array: {error}") from error


def _file(path: Path, round: int) -> Path:
    return path / f"scores-round-{round:06d}.npz"


def _load(path: Path, round: int) -> Observation:
    file = _file(path, round)
    if not file.exists():
        raise InvalidValue(f"{path} must hold the snapshot of round {round}, got none: start again elsewhere")
    check_arrays(file)
    arrays = read_arrays(file)
    return Observation(
        round=round, truth=bool(arrays["truth"]), seen=arrays["seen"], simulated=arrays["simulated"]
    )
