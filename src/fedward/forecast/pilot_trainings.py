"""Pilot trainings: short trainings of an experiment with other noise, sampling rates and rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fedward.backends.compute import Compute
from fedward.backends.engines.threads import cores as usable_cores
from fedward.backends.open import open_backend
from fedward.backends.protocol import Backend
from fedward.base.validate import InvalidValue
from fedward.certificates.pilot import Noise, Pilot
from fedward.certificates.replica_scores import Replicas
from fedward.clipping import FixedBound
from fedward.config import experiment as config
from fedward.config.overrides import copy_tables, put
from fedward.core.federation import Federation
from fedward.forecast.calibration import Calibration, calibrate
from fedward.forecast.pilot_run import noise_of
from fedward.lockstep.lockstep import Lockstep, Training
from fedward.studies.training.setup import Setup, prepare

# What opening files and processes takes, and how much longer things take than a second's measurement says.
_BEGINNING = 2.0
# What a round takes besides, however few take part.
_ROUND = 2e-3
_LOW, _HIGH = 0.7, 1.8


def changes_for(noise: Noise) -> dict[str, Any]:
    """The keys of an experiment file that make it this training."""
    everyone = noise.sampling_rate == 1
    sampler = {"name": "everyone"} if everyone else {"name": "poisson", "rate": noise.sampling_rate}
    return {
        "rounds": noise.rounds,
        "algorithm.noise_multiplier": noise.noise_multiplier,
        "algorithm.sampler": sampler,
        "privacy.users": noise.users,
    }


@dataclass(frozen=True, kw_only=True, eq=False)
class PilotTrainings:
    """An experiment that is trained as a pilot, with its data, its backend and what a training takes.

    Args:
      content, source: the experiment file, and how errors name it.
      federation: its data.
      backend: trains.
      first: the experiment as the file has it.
      calibration: seconds of each kind of step; None where nothing could be measured.
      cores: on how many replicas will be trained; pilot trainings take one.
    """

    content: Mapping[str, Any]
    source: str
    federation: Federation
    backend: Backend
    first: Setup
    calibration: Calibration | None
    cores: int

    @property
    def users(self) -> int:
        return self.federation.num_users

    @property
    def clip_bound(self) -> float | None:
        """S, where one bound holds for all."""
        policy = self.first.algorithm.policy
        bound = policy.clip_bound if isinstance(policy, FixedBound) else None
        return bound if isinstance(bound, float | int) else None

    def setup(self, noise: Noise) -> Setup:
        """The experiment with this noise."""
        content: dict[str, Any] = copy_tables(self.content)
        for key, value in changes_for(noise).items():
            put(content, key, value)
        return prepare(config.from_content(content, self.source), federation=self.federation)

    def train(self, noise: Noise, replicas: int, first: int = 0) -> Pilot:
        """Trains so many replicas, numbered from ``first`` on, side by side; nothing is stored."""
        setup = self.setup(noise)
        test = self.federation.test
        assert test is not None  # checked when the pilot was opened
        trainings = [
            Training(algorithm=setup.algorithm, rounds=noise.rounds, replica=first + number)
            for number in range(replicas)
        ]
        together = Lockstep(setup.model, self.federation, self.backend, seed=setup.experiment.seed)
        states = together.start(trainings)
        for _ in range(noise.rounds):
            states = [state for state, _ in together.round(trainings, states)]
        together.forget()
        classes = self.federation.num_classes
        models = [state.parameters for state in states]
        scores = np.stack(
            [each[:, :classes] for each in self.backend.confidences(models, test)], dtype=np.float32
        )
        found = Replicas(
            scores=scores, numbers=np.arange(replicas), seed=setup.experiment.seed, labels=test.y.numpy()
        )
        return Pilot.of(found, noise, origin="file")

    def seconds(self, noise: Noise, replicas: int) -> tuple[float, float] | None:
        """The least and the most that M replicas may take on all cores; None if nothing was measured."""
        if self.calibration is None:
            return None
        jobs, server = self._work(self.calibration, noise, replicas)
        whole = jobs / self.cores + server
        return _BEGINNING + _LOW * whole, _BEGINNING + _HIGH * whole

    def seconds_here(self, noise: Noise, replicas: int) -> float | None:
        """About how long so many pilot trainings take in this process; None if nothing was measured."""
        return None if self.calibration is None else sum(self._work(self.calibration, noise, replicas))

    def _work(self, taken: Calibration, noise: Noise, replicas: int) -> tuple[float, float]:
        """Seconds of local trainings, shared in the first round, and of the server."""
        first = noise.users * (1 - (1 - noise.sampling_rate) ** replicas)
        jobs = first + replicas * (noise.rounds - 1) * noise.cohort
        # The server's part of a round was measured with the file's cohort, and grows with it.
        cohort = max(1.0, self.first.algorithm.sampler.expected_size(self.users))
        finish = taken.finish * noise.cohort / cohort + _ROUND
        return jobs * taken.job, replicas * (noise.rounds * finish + taken.evaluation)


@contextmanager
def open_pilot(
    content: Mapping[str, Any], source: str, data: Path | None, compute: Compute
) -> Iterator[PilotTrainings]:
    """Makes an experiment ready to be trained as a pilot; refuses what a plan does not speak about."""
    if "attack" in content or "sweep" in content:
        raise InvalidValue(f"a pilot must have neither an [attack] nor a [sweep], got one in {source}")
    algorithm = content.get("algorithm")
    if not isinstance(algorithm, Mapping) or "noise_multiplier" not in algorithm:
        raise InvalidValue(
            "a pilot must have a table [algorithm] with a noise_multiplier, such as the preset "
            f"user_dp_fedavg, got none in {source}"
        )
    tables: dict[str, Any] = copy_tables(content)
    if isinstance(tables.get("privacy"), dict):
        tables["privacy"].pop("budget", None)
    experiment = config.from_content(tables, source)
    federation = experiment.load_data(data)
    if federation.test is None:
        raise InvalidValue(f"a pilot must have test examples, got none in {source}")
    first = prepare(experiment, federation=federation)
    noise_of(first.algorithm.spent(federation.num_users, experiment.rounds))
    number = compute.processes
    # Pilot trainings are over before worker processes would have begun.
    with open_backend(first.model, federation, replace(compute, workers=0, backend="auto")) as backend:
        yield PilotTrainings(
            content=tables,
            source=source,
            federation=federation,
            backend=backend,
            first=first,
            calibration=calibrate(first, compute, seconds=0.5),
            cores=max(1, usable_cores() if number is None else number),
        )
