"""A training: one experiment in a run directory, from wherever it was left."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor

from fedward.backends import measure
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.open import open_backend
from fedward.backends.protocol import Backend
from fedward.config.object_section import ObjectSection
from fedward.config.own_parts import own_code
from fedward.core.digest import data_digest, tensor_digest
from fedward.core.parameters import ParameterSpec
from fedward.core.train import train
from fedward.core.types import ServerState
from fedward.presets.local_privacy import papers_ledger
from fedward.privacy.remembered import guarantee_or_rdp
from fedward.privacy.spending import mechanisms
from fedward.rundir.computed_by import versions
from fedward.rundir.manifest import Divisor, Manifest, RunData
from fedward.rundir.results import KeptRound, Measured, Norms, TrainingResult
from fedward.rundir.run_record import RunRecord, load
from fedward.rundir.spent import Spent, spending_for_result
from fedward.rundir.store import RunDirectory
from fedward.studies.progress import Clock, Progress
from fedward.studies.study import open_run_directory
from fedward.studies.training.setup import Setup, prepare

__all__ = ["Setup", "TrainingStudy", "manifest", "prepare"]


@dataclass(frozen=True, kw_only=True)
class TrainingStudy:
    """One training of an experiment."""

    setup: Setup

    open = open_run_directory

    def steps(
        self, place: RunDirectory, compute: Compute = IN_PROCESS, backend: Backend | None = None
    ) -> Iterator[Progress]:
        """Runs or resumes; yields after every round. A finished run is left as it is.

        ``backend`` runs the jobs of several trainings, this one among them; a new one if not given.
        """
        setup, experiment, algorithm = self.setup, self.setup.experiment, self.setup.algorithm
        place.begin(manifest(setup, setup.engine(compute)))
        if place.result() is not None:
            return
        new = partial(open_backend, setup.model, setup.federation, compute, also=setup.measured_on)
        with new() if backend is None else nullcontext(backend) as own:
            state = place.load_state()
            if state is None:
                state = algorithm.init(setup.parameters, num_users=setup.federation.num_users)
            clock = Clock({"round": experiment.rounds})
            clock.skip("round", state.round)
            if state.round:
                # A kill between storing a round and measuring it: the measurement is made up for.
                yield _measure_if_due(setup, own, place, state, clock)
            state = place.with_reservation(state)

            rounds = train(
                algorithm,
                setup.model,
                setup.federation,
                own,
                rounds=experiment.rounds,
                seed=experiment.seed,
                state=state,
                adversary=setup.attack.adversary if setup.attack else None,
                budget=experiment.make_budget(algorithm, setup.federation),
                journal=place,
            )
            before = state.round
            for state, log in rounds:
                place.save_round(state, log)
                # The first round of a session also starts the workers.
                clock.tick("round", measured=state.round > before + 1)
                yield _measure_if_due(setup, own, place, state, clock)
            _finish(setup, own, place, state)

    def result(self, place: RunDirectory) -> RunRecord:
        found = load(place.path)
        assert isinstance(found, RunRecord)  # it has just been run
        return found


def _measure_if_due(
    setup: Setup, backend: Backend, directory: RunDirectory, state: ServerState, clock: Clock
) -> Progress:
    """Measures the model after its last round where that is due and not done yet."""
    last = state.round - 1
    due = state.round % setup.experiment.evaluation.every == 0 or state.round == setup.experiment.rounds
    records = directory.metrics()
    if due and setup.federation.test is not None and (not records or records[-1].round < last):
        directory.save_metrics(last, _measure(setup, backend, state.parameters)[0])
        records = directory.metrics()
    return clock.progress(
        rounds=state.round,
        metrics=records[-1] if records else None,
        ledger=state.ledger,
        users=state.users,
    )


def _measure(setup: Setup, backend: Backend, parameters: Tensor) -> tuple[Measured, int]:
    """What is known of a model after a round, and on how many clean test examples."""
    assert setup.federation.test is not None
    if setup.goal is None:
        metrics = backend.evaluate(parameters, setup.federation.test)
        return Measured(accuracy=metrics.accuracy, loss=metrics.loss), metrics.examples
    section = setup.experiment.attack
    bound = section.cost_bound if section is not None else None
    found = measure(backend, parameters, setup.goal, cost_bound=bound, target=setup.target)
    return Measured(**found.to_record()), found.main.examples


def _finish(setup: Setup, backend: Backend, directory: RunDirectory, state: ServerState) -> None:
    papers = papers_ledger(setup.algorithm, setup.federation.num_users, state.round)
    spent = Spent(folder=directory.path, ledger=state.ledger, users=state.users, papers=papers)
    # Where users protect themselves and nobody looks at their norms, the server has nothing to claim.
    nothing = setup.algorithm.unproven or not mechanisms(state.ledger.spending)
    claims = [] if nothing else [guarantee_or_rdp(state.ledger, setup.delta, setup.accountant)]
    module = copy.deepcopy(setup.model)
    ParameterSpec.of(module).load(module, state.parameters)
    about = Manifest(experiment={}, delta=setup.delta, accountant=setup.accountant, caveat=setup.caveat)
    known: dict[str, Any] = spending_for_result(spent, about)
    if setup.algorithm.noise_source == "seeded":
        logs = directory.telemetry()
        known["rejected_updates"] = sum(len(each.rejected) for each in logs)
        known["kept_rounds"] = [KeptRound(round=each.round, why=each.kept) for each in logs if each.kept]
        if setup.attack is not None:
            attacked = setup.attack.adversary.rounds
            known["norms"] = Norms.of([log for log in logs if attacked is None or log.round in attacked])
    if setup.attack is not None:
        known["notes"] = list(setup.attack.notes)
    if setup.federation.test is not None:
        measured, examples = _measure(setup, backend, state.parameters)
        known |= measured.to_json() | {"test_examples": examples}
    stopped = state.round < setup.experiment.rounds
    result = TrainingResult(rounds=state.round, stopped_by_budget=stopped, **known)
    directory.finish(module, state.ledger, claims, result, state.users, papers)


def manifest(setup: Setup, engine: str = "") -> Manifest:
    """What is run, for ``run.json``."""
    experiment = setup.experiment.model_dump(mode="json")
    # Where files lie is not part of what is run; what is in them is.
    experiment["data"].pop("data_dir", None)
    experiment["model"].pop("weights", None)
    data: dict[str, Any] = {"users": setup.federation.num_users, "digest": data_digest(setup.federation)}
    if isinstance(setup.experiment.model, ObjectSection):
        data["initial_model"] = tensor_digest(ParameterSpec.of(setup.model).flatten(setup.model))
    if setup.weights is not None:
        data["initial_model"] = setup.weights.digest
    if setup.target is not None:
        experiment["attack"].pop("target_model")
        data["target_model"] = tensor_digest(setup.target)
    terms = setup.algorithm.new_ledger().terms
    divisor = None if terms.divisor is None else Divisor(size=terms.divisor, declared=terms.declared)
    code = own_code(setup.experiment)
    about = Manifest(
        experiment=experiment,
        data=RunData(**data),
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
