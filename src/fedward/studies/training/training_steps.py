"""The rounds of one training in an open run directory, wherever the data of its users is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from torch import Tensor, nn

from fedward.attacks import Goal, Staged
from fedward.backends import measure
from fedward.backends.protocol import Backend
from fedward.config.experiment import Experiment
from fedward.core.algorithm import Algorithm
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.roster import Roster
from fedward.core.train import train
from fedward.core.types import ServerState
from fedward.presets.local_privacy import papers_ledger
from fedward.privacy.budget import Budget
from fedward.privacy.remembered import guarantee_or_rdp
from fedward.privacy.spending import mechanisms
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import KeptRound, Measured, Norms, TrainingResult
from fedward.rundir.spent import Spent, spending_for_result
from fedward.rundir.store import RunDirectory
from fedward.studies.progress import Clock, Progress


class Prepared(Protocol):
    """A training made ready: all parts made and checked."""

    @property
    def experiment(self) -> Experiment: ...

    @property
    def algorithm(self) -> Algorithm: ...

    @property
    def model(self) -> nn.Module: ...

    @property
    def parameters(self) -> Tensor: ...

    @property
    def people(self) -> Federation | Roster:
        """Everybody's data, or a roster of those who keep theirs."""

    @property
    def test(self) -> Examples | None: ...

    @property
    def budget(self) -> Budget | None: ...

    @property
    def delta(self) -> float: ...

    @property
    def accountant(self) -> str: ...

    @property
    def caveat(self) -> str: ...

    @property
    def attack(self) -> Staged | None: ...

    @property
    def goal(self) -> Goal | None: ...

    @property
    def target(self) -> Tensor | None: ...


def training_steps(
    setup: Prepared,
    backend: Backend,
    place: RunDirectory,
    before: Callable[[ServerState], object] = lambda state: None,
) -> Iterator[Progress]:
    """Runs or resumes the rounds; yields after each. Its model, ledger and result are in the place then.

    Args:
      before: called before each round, when nothing of it is reserved yet. What it raises ends the session,
        and the training goes on from there another time.
    """
    experiment, algorithm, num_users = setup.experiment, setup.algorithm, setup.people.num_users
    state = place.load_state()
    if state is None:
        state = algorithm.init(setup.parameters, num_users=num_users)
    clock = Clock({"round": experiment.rounds})
    clock.skip("round", state.round)
    if state.round:
        # A kill between storing a round and measuring it: the measurement is made up for.
        yield _measure_if_due(setup, backend, place, state, clock)
    state = place.with_reservation(state)
    rounds = train(
        algorithm,
        setup.model,
        setup.people,
        backend,
        rounds=experiment.rounds,
        seed=experiment.seed,
        state=state,
        adversary=setup.attack.adversary if setup.attack else None,
        budget=setup.budget,
        journal=place,
    )
    begun = state.round
    while state.round < experiment.rounds:
        before(state)
        finished = next(rounds, None)
        if finished is None:  # the budget does not allow another round
            break
        state, log = finished
        place.save_round(state, log)
        # The first round of a session also starts the workers.
        clock.tick("round", measured=state.round > begun + 1)
        yield _measure_if_due(setup, backend, place, state, clock)
    _finish(setup, backend, place, state)


def _measure_if_due(
    setup: Prepared, backend: Backend, directory: RunDirectory, state: ServerState, clock: Clock
) -> Progress:
    """Measures the model after its last round where that is due and not done yet."""
    last = state.round - 1
    due = state.round % setup.experiment.evaluation.every == 0 or state.round == setup.experiment.rounds
    measured = directory.last_measured()
    if due and setup.test is not None and (measured is None or measured.round < last):
        directory.save_metrics(last, _measure(setup, backend, state.parameters)[0])
    return clock.progress(
        rounds=state.round,
        metrics=directory.last_measured(),
        ledger=state.ledger,
        users=state.users,
    )


def _measure(setup: Prepared, backend: Backend, parameters: Tensor) -> tuple[Measured, int]:
    """What is known of a model after a round, and on how many clean test examples."""
    assert setup.test is not None
    if setup.goal is None:
        metrics = backend.evaluate(parameters, setup.test)
        return Measured(accuracy=metrics.accuracy, loss=metrics.loss), metrics.examples
    section = setup.experiment.attack
    bound = section.cost_bound if section is not None else None
    found = measure(backend, parameters, setup.goal, cost_bound=bound, target=setup.target)
    return Measured(**found.to_record()), found.main.examples


def _finish(setup: Prepared, backend: Backend, directory: RunDirectory, state: ServerState) -> None:
    papers = papers_ledger(setup.algorithm, setup.people.num_users, state.round)
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
    if setup.test is not None:
        measured, examples = _measure(setup, backend, state.parameters)
        known |= measured.to_json() | {"test_examples": examples}
    stopped = state.round < setup.experiment.rounds
    result = TrainingResult(rounds=state.round, stopped_by_budget=stopped, **known)
    directory.finish(module, state.ledger, claims, result, state.users, papers)
