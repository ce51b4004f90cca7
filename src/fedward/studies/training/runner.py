"""Carries out an experiment in a run directory, from wherever it was left."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from fedward.backends import measure
from fedward.backends.engines.choice import Choice
from fedward.backends.open import AnyBackend, check_workers, engine_in_words, open_backend
from fedward.core.digest import data_digest, tensor_digest
from fedward.core.parameters import ParameterSpec
from fedward.core.train import train
from fedward.core.types import ServerState
from fedward.presets.local_privacy import papers_ledger
from fedward.privacy import Ledger
from fedward.privacy.spending import mechanisms
from fedward.privacy.user_ledgers import UserLedgers
from fedward.rundir.computed_by import versions
from fedward.rundir.spent import Spent, central, in_result
from fedward.rundir.store import RunDirectory
from fedward.studies.sweep.shared_jobs import SharedJobs
from fedward.studies.training.setup import Setup, prepare

__all__ = ["Progress", "Setup", "manifest", "prepare", "run"]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a run stands: rounds finished, what was last measured, what has been spent."""

    rounds: int
    metrics: dict[str, Any] | None
    ledger: Ledger | None = None
    users: UserLedgers | None = None


def run(
    setup: Setup,
    directory: RunDirectory,
    *,
    workers: int | None = 0,
    device: str = "cpu",
    engine: Choice | None = None,
    backend: SharedJobs | None = None,
) -> Iterator[Progress]:
    """Runs or resumes; yields after every round. A finished run is left as it is.

    Args:
      workers: how many threads or processes train; 0 for this one, None for one for each core. The result is
        the same.
      device: where models are trained.
      engine: ``auto``, ``native`` or ``generic``.
      backend: runs the jobs of several trainings, this one among them; a new one if not given.
    """
    check_workers(workers, device)
    words = engine_in_words(setup.model, setup.federation, device, engine)
    directory.begin(manifest(setup) | {"engine": words})
    if directory.result() is not None:
        return
    if backend is not None:
        yield from _run(setup, directory, backend)
        return
    with open_backend(
        setup.model,
        setup.federation,
        workers=workers,
        device=device,
        engine=engine,
        also=setup.measured_on,
    ) as own:
        yield from _run(setup, directory, own)


def _run(setup: Setup, directory: RunDirectory, backend: AnyBackend | SharedJobs) -> Iterator[Progress]:
    experiment, federation, algorithm = setup.experiment, setup.federation, setup.algorithm
    state = directory.load_state()
    if state is None:
        state = algorithm.init(
            ParameterSpec.of(setup.model).flatten(setup.model), num_users=federation.num_users
        )
    else:
        # A kill between storing a round and measuring it: the measurement is made up for.
        yield _measured(setup, backend, directory, state)
    state = directory.with_reservation(state)

    rounds = train(
        algorithm,
        setup.model,
        federation,
        backend,
        rounds=experiment.rounds,
        seed=experiment.seed,
        state=state,
        adversary=setup.attack.adversary if setup.attack else None,
        budget=experiment.make_budget(algorithm, federation),
        journal=directory,
    )
    for state, log in rounds:
        directory.save_round(state, log)
        yield _measured(setup, backend, directory, state)
    _finish(setup, backend, directory, state)


def _measured(
    setup: Setup, backend: AnyBackend | SharedJobs, directory: RunDirectory, state: ServerState
) -> Progress:
    """Measures the model after its last round where that is due and not done yet."""
    last = state.round - 1
    due = state.round % setup.experiment.evaluation.every == 0 or state.round == setup.experiment.rounds
    records = directory.metrics()
    if due and setup.federation.test is not None and (not records or records[-1]["round"] < last):
        directory.save_metrics({"round": last, **_measure(setup, backend, state.parameters)[0]})
        records = directory.metrics()
    return Progress(
        rounds=state.round,
        metrics=records[-1] if records else None,
        ledger=state.ledger,
        users=state.users,
    )


def _measure(
    setup: Setup, backend: AnyBackend | SharedJobs, parameters: Tensor
) -> tuple[dict[str, Any], int]:
    """What is known of a model after a round, and on how many clean test examples."""
    assert setup.federation.test is not None
    if setup.attack is None or setup.attack.goal is None:
        metrics = backend.evaluate(parameters, setup.federation.test)
        return {"accuracy": metrics.accuracy, "loss": metrics.loss}, metrics.examples
    section = setup.experiment.attack
    bound = section.cost_bound if section is not None else None
    found = measure(backend, parameters, setup.attack.goal, cost_bound=bound, target=setup.target)
    return found.to_record(), found.main.examples


def _finish(
    setup: Setup, backend: AnyBackend | SharedJobs, directory: RunDirectory, state: ServerState
) -> None:
    papers = papers_ledger(setup.algorithm, setup.federation.num_users, state.round)
    spent = Spent(folder=directory.path, ledger=state.ledger, users=state.users, papers=papers)
    # Where users protect themselves and nobody looks at their norms, the server has nothing to claim.
    nothing = setup.algorithm.unproven or not mechanisms(state.ledger.spending)
    claims = [] if nothing else [central(state.ledger, setup.delta, setup.accountant)]
    module = copy.deepcopy(setup.model)
    ParameterSpec.of(module).load(module, state.parameters)
    result: dict[str, Any] = {
        "rounds": state.round,
        "stopped_by_budget": state.round < setup.experiment.rounds,
        **in_result(spent, {"delta": setup.delta, "accountant": setup.accountant, "caveat": setup.caveat}),
    }
    if setup.algorithm.noise_source == "seeded":
        result["rejected_updates"] = directory.rejected()
    if setup.attack is not None:
        result["notes"] = list(setup.attack.notes)
        if setup.algorithm.noise_source == "seeded":
            result["norms"] = directory.mean_norms(setup.attack.adversary.rounds)
    if setup.algorithm.noise_source == "seeded":
        result["kept_rounds"] = directory.kept()
    if setup.federation.test is not None:
        record, examples = _measure(setup, backend, state.parameters)
        result |= {**record, "test_examples": examples}
    directory.finish(module, state.ledger, claims, result, state.users, papers)


def manifest(setup: Setup) -> dict[str, Any]:
    """What is run, for ``run.json``."""
    experiment = setup.experiment.model_dump(mode="json")
    # Where files lie is not part of what is run; what is in them is.
    experiment["data"].pop("data_dir", None)
    experiment["model"].pop("weights")
    data = {"users": setup.federation.num_users, "digest": data_digest(setup.federation)}
    if setup.weights is not None:
        data["initial_model"] = setup.weights.digest
    if setup.target is not None:
        experiment["attack"].pop("target_model")
        data["target_model"] = tensor_digest(setup.target)
    return {
        "experiment": experiment,
        "data": data,
        "weights": None if setup.weights is None else str(setup.weights),
        "caveat": setup.caveat,
        "divisor": divisor(setup),
        "delta": setup.delta,
        "accountant": setup.accountant,
        "accounting": setup.algorithm.accounting,
        "versions": versions(),
    }


def divisor(setup: Setup) -> dict[str, Any] | None:
    """m̄ and whether it was declared; None where no sum is divided by a constant."""
    terms = setup.algorithm.new_ledger().terms
    return None if terms.divisor is None else {"size": terms.divisor, "declared": terms.declared}
