"""A training: one experiment in a run directory, from wherever it was left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.open import open_backend
from fedward.backends.protocol import Backend
from fedward.config.object_section import ObjectSection
from fedward.config.own_parts import own_code
from fedward.core.digest import data_digest, tensor_digest
from fedward.core.parameters import ParameterSpec
from fedward.core.types import PublicServer
from fedward.rundir.computed_by import versions
from fedward.rundir.manifest import Divisor, Manifest, RunData
from fedward.rundir.run_record import RunRecord, load
from fedward.rundir.store import RunDirectory
from fedward.studies.progress import Progress
from fedward.studies.study import open_run_directory
from fedward.studies.training.setup import Setup, prepare
from fedward.studies.training.training_steps import training_steps

__all__ = ["Setup", "TrainingStudy", "manifest", "prepare"]


@dataclass(frozen=True, kw_only=True)
class TrainingStudy:
    """One training of an experiment.

    Args:
      setup: the experiment, made ready.
      begun: whether ``run.json`` is there and says the same, as whoever sent this training here has seen to.
      data: the digest of the setup's data, where it is known.
    """

    setup: Setup
    begun: bool = False
    data: str = ""

    open = open_run_directory

    def steps(
        self, place: RunDirectory, compute: Compute = IN_PROCESS, backend: Backend | None = None
    ) -> Iterator[Progress]:
        """Runs or resumes; yields after every round. A finished run is left as it is.

        ``backend`` runs the jobs of several trainings, this one among them; a new one if not given.
        """
        setup = self.setup
        if not self.begun:
            place.begin(manifest(setup, setup.engine(compute), self.data))
        if place.result() is not None:
            return
        new = partial(open_backend, setup.model, setup.federation, compute, also=setup.measured_on)
        with new() if backend is None else nullcontext(backend) as own:
            yield from training_steps(setup, own, place)

    def result(self, place: RunDirectory) -> RunRecord:
        found = load(place.path)
        assert isinstance(found, RunRecord)  # it has just been run
        return found


def manifest(setup: Setup, engine: str = "", data: str = "") -> Manifest:
    """What is run, for ``run.json``; ``data`` is the digest of the data, where it is known."""
    experiment = setup.experiment.model_dump(mode="json")
    # Where files lie is not part of what is run; what is in them is.
    experiment["data"].pop("data_dir", None)
    experiment["model"].pop("weights", None)
    about_data: dict[str, Any] = {
        "users": setup.federation.num_users,
        "digest": data or data_digest(setup.federation),
    }
    if isinstance(setup.experiment.model, ObjectSection):
        about_data["initial_model"] = tensor_digest(ParameterSpec.of(setup.model).flatten(setup.model))
    if setup.weights is not None:
        about_data["initial_model"] = setup.weights.digest
    if setup.target is not None:
        experiment["attack"].pop("target_model")
        about_data["target_model"] = tensor_digest(setup.target)
    if isinstance(setup.algorithm.server, PublicServer):
        about_data["public_directions"] = setup.algorithm.server.public_digest
    terms = setup.algorithm.new_ledger().terms
    divisor = None if terms.divisor is None else Divisor(size=terms.divisor, declared=terms.declared)
    code = own_code(setup.experiment)
    about = Manifest(
        experiment=experiment,
        data=RunData(**about_data),
        weights=None if setup.weights is None else str(setup.weights),
        caveat=setup.caveat,
        divisor=divisor,
        delta=setup.delta,
        accountant=setup.accountant,
        accounting=setup.algorithm.accounting,
        versions=versions(),
        engine=engine,
    )
    return about.model_copy(update={"code": code}) if code else about
