"""Carries out an experiment in a run directory, from wherever it was left."""

from __future__ import annotations

import copy
import platform
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from dp_accounting import NoOpDpEvent
from torch import Tensor, nn

from fedward import models
from fedward.attacks import Staged
from fedward.backends import InProcess, measure
from fedward.core.algorithm import Algorithm
from fedward.core.check import check_setup
from fedward.core.examples import Ragged
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.train import check_budget, train
from fedward.core.types import ServerState
from fedward.core.validate import InvalidValue
from fedward.experiment.config import Experiment
from fedward.experiment.digest import data_digest, tensor_digest
from fedward.experiment.store import RunDirectory
from fedward.experiment.target_model import read_target
from fedward.presets.local_privacy import papers_claim
from fedward.privacy import Guarantee
from fedward.privacy.pld import NoiseTooSmall
from fedward.privacy.shares import shares
from fedward.version import __version__


@dataclass(frozen=True, kw_only=True)
class Setup:
    """An experiment with its data loaded and its parts made and checked: ready to run."""

    experiment: Experiment
    federation: Federation
    model: nn.Module
    algorithm: Algorithm
    delta: float
    accountant: str
    attack: Staged | None = None
    target: Tensor | None = None

    @property
    def planned(self) -> Guarantee:
        """What the whole training will have spent, if no budget ends it before."""
        return self.guarantee(self.experiment.rounds)

    def guarantee(self, rounds: int) -> Guarantee:
        """What that many rounds spend."""
        return self.algorithm.guarantee(self.federation.num_users, rounds, self.delta, self.accountant)

    def looks(self, rounds: int) -> Guarantee | None:
        """What the server's looks at norms spend in that many rounds, where users protect themselves."""
        if self.algorithm.accounting != "users":
            return None
        ledger = self.algorithm.planned_ledger(self.federation.num_users, rounds)
        return ledger.guarantee(self.delta, self.accountant)


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a run stands: rounds finished, and what was last measured."""

    rounds: int
    metrics: dict[str, Any] | None


def prepare(experiment: Experiment, data_dir: Path | None = None) -> Setup:
    """Loads the data and makes every part; whatever does not fit together is an error here."""
    federation = experiment.load_data(data_dir)
    x = federation.examples.x
    model = models.build(
        experiment.model.part,
        input_shape=() if isinstance(x, Ragged) else tuple(x.shape[1:]),
        num_classes=federation.num_classes,
        seed=experiment.seed,
    )
    algorithm = experiment.make_algorithm(federation, model)
    staged, target = None, None
    if experiment.attack is not None:
        try:
            staged = experiment.attack.build().stage(algorithm, federation, experiment.seed)
            target = read_target(experiment.attack.target_model, model)
        except InvalidValue as error:
            raise InvalidValue(f"attack: {error}") from error
        federation, algorithm = staged.federation, staged.algorithm
    check_setup(algorithm, model, federation, staged.adversary if staged else None)
    setup = Setup(
        experiment=experiment,
        federation=federation,
        model=model,
        algorithm=algorithm,
        delta=experiment.delta_for(federation, algorithm.unit),
        accountant=experiment.accountant_for(algorithm),
        attack=staged,
        target=target,
    )
    # An accountant without a proof for this sampling, or a budget too small for one round, ends here.
    budget = experiment.make_budget(algorithm, federation)
    if budget is None:
        try:
            _ = setup.planned, setup.looks(experiment.rounds)
        except NoiseTooSmall:
            if experiment.privacy.accountant is not None:
                raise
            # Weak DP, or very many rounds: an ε that pld does not compute still gets its number.
            setup = replace(setup, accountant="rdp")
    else:
        # Not what all rounds would cost: the budget ends the training before.
        check_budget(budget, algorithm, federation.num_users)
        _ = setup.looks(1)
    return setup


def run(setup: Setup, directory: RunDirectory) -> Iterator[Progress]:
    """Runs or resumes; yields after every round. A finished run is left as it is."""
    experiment, federation, algorithm = setup.experiment, setup.federation, setup.algorithm
    directory.begin(_manifest(setup))
    if directory.result() is not None:
        return
    backend = InProcess(setup.model, federation)
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


def _measured(setup: Setup, backend: InProcess, directory: RunDirectory, state: ServerState) -> Progress:
    """Measures the model after its last round where that is due and not done yet."""
    last = state.round - 1
    due = state.round % setup.experiment.evaluation.every == 0 or state.round == setup.experiment.rounds
    records = directory.metrics()
    if due and setup.federation.test is not None and (not records or records[-1]["round"] < last):
        directory.save_metrics({"round": last, **_measure(setup, backend, state.parameters)[0]})
        records = directory.metrics()
    return Progress(rounds=state.round, metrics=records[-1] if records else None)


def _measure(setup: Setup, backend: InProcess, parameters: Tensor) -> tuple[dict[str, Any], int]:
    """What is known of a model after a round, and on how many clean test examples."""
    assert setup.federation.test is not None
    if setup.attack is None or setup.attack.goal is None:
        metrics = backend.evaluate(parameters, setup.federation.test)
        return {"accuracy": metrics.accuracy, "loss": metrics.loss}, metrics.examples
    section = setup.experiment.attack
    bound = section.cost_bound if section is not None else None
    found = measure(backend, parameters, setup.attack.goal, cost_bound=bound, target=setup.target)
    return found.to_record(), found.main.examples


def _finish(setup: Setup, backend: InProcess, directory: RunDirectory, state: ServerState) -> None:
    ledger = state.ledger
    own = state.users.guarantees(setup.delta, setup.accountant) if state.users is not None else None
    central = ledger.guarantee(setup.delta, setup.accountant)
    guarantee = central if own is None else own.worst
    # Where users protect themselves and nobody looks at their norms, the server has nothing to claim.
    spent = any(not isinstance(event, NoOpDpEvent) for event, _ in ledger.spending)
    claims = [] if setup.algorithm.unproven or not spent else [central]
    module = copy.deepcopy(setup.model)
    ParameterSpec.of(module).load(module, state.parameters)
    result: dict[str, Any] = {
        "rounds": state.round,
        "stopped_by_budget": state.round < setup.experiment.rounds,
        "guarantee": guarantee.to_json(),
        "statement": str(guarantee),
    }
    if own is not None:
        result["users"] = own.to_json()
        result["each_user"] = str(own)
        if spent:
            result["looks"] = f"the server's looks at norms, from a central budget: {central}"
    claim = papers_claim(setup.algorithm, setup.federation.num_users, state.round, setup.delta)
    if claim is not None:
        result["statement"] = f"the conservative bound: {guarantee}"
        result["papers_claim"] = claim.to_json()
        result["papers_claim_statement"] = f"the paper's claim: {claim}"
    if setup.algorithm.noise_source == "seeded":
        result["rejected_updates"] = directory.rejected()
    parts = shares(ledger, setup.delta, setup.accountant) if own is None else None
    if parts is not None:
        result |= parts.to_json()
        result["shares"] = [str(parts)] + [parts.as_the_papers_add] * (setup.accountant == "moments")
    if setup.attack is not None:
        result["notes"] = list(setup.attack.notes)
        if setup.algorithm.noise_source == "seeded":
            result["norms"] = directory.mean_norms(setup.attack.adversary.rounds)
    if setup.algorithm.noise_source == "seeded":
        result["kept_rounds"] = directory.kept()
    if setup.federation.test is not None:
        record, examples = _measure(setup, backend, state.parameters)
        result |= {**record, "test_examples": examples}
    directory.finish(module, ledger, claims, result, state.users)


def _manifest(setup: Setup) -> dict[str, Any]:
    experiment = setup.experiment.model_dump(mode="json")
    experiment["data"].pop("data_dir", None)  # where data lies is not part of what is run
    data = {"users": setup.federation.num_users, "digest": data_digest(setup.federation)}
    if setup.target is not None:
        experiment["attack"].pop("target_model")
        data["target_model"] = tensor_digest(setup.target)
    return {
        "experiment": experiment,
        "data": data,
        "delta": setup.delta,
        "accountant": setup.accountant,
        "versions": {
            "fedward": __version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "dp_accounting": version("dp-accounting"),
            "python": platform.python_version(),
        },
    }
