"""Trainings in which users protect themselves: who is charged, what a budget allows, which state fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from dp_accounting import GaussianDpEvent

import fedward
from core.self_protected import FEDERATION, FEDSGD, MODEL, START, dp_sgd, end, insdp, ldp
from fedward.base.validate import InvalidValue
from fedward.core.algorithm import Algorithm
from fedward.core.round import plan_round
from fedward.core.train import train as train_with
from fedward.core.types import Job, Row, ServerState
from fedward.presets import insdp_fedsgd
from fedward.privacy import Budget, Ledger
from fedward.privacy.user_ledgers import UserLedgers
from fedward.sampling import FixedSizeSampler, PoissonSampler
from support import tiny_algorithm


def test_exactly_the_cohort_is_charged_each_round() -> None:
    algorithm = insdp()
    state = algorithm.init(START, 0, 12)
    expected = np.zeros(12, dtype=np.int64)
    for after, log in fedward.rounds(algorithm, MODEL, FEDERATION, rounds=5, seed=2, state=state):
        assert log.telemetry is not None
        expected[list(log.telemetry.cohort)] += 1
        assert after.users is not None
        rounds = [after.users.guarantee(user, 1e-5, "rdp").rounds for user in range(12)]
        assert rounds == expected.tolist()


class Stopped(Exception):
    pass


class Recorder:
    """Keeps every reservation, and asks that no job has run before it."""

    def __init__(self) -> None:
        self.users: list[UserLedgers] = []

    def reserve(self, ledger: Ledger, users: UserLedgers | None = None) -> None:
        assert users is not None
        assert users.reserved is not None
        assert ledger.reserved is not None
        self.users.append(users)


class Unwilling:
    """A backend that ends the training when the first job of a round is asked for."""

    def __init__(self, journal: Recorder, round: int) -> None:
        self._backend = fedward.InProcess(MODEL, FEDERATION)
        self._journal, self._round = journal, round

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        if len(self._journal.users) == self._round + 1:
            raise Stopped
        return self._backend.train(jobs)


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_a_killed_round_is_reserved_and_charged_once_if_it_can_be_repeated(source: Any) -> None:
    algorithm = insdp(local=dp_sgd(noise_source=source))
    journal = Recorder()
    backend = Unwilling(journal, 1)
    rounds = train_with(algorithm, MODEL, FEDERATION, backend, rounds=3, seed=1, journal=journal)
    states = [next(rounds)[0]]
    with pytest.raises(Stopped):
        next(rounds)
    reserved = journal.users[-1].reserved
    assert reserved is not None
    assert reserved.round == 1
    # Resumed from the last state, with what the journal holds.
    ledger = states[-1].ledger.reserve(1, algorithm.round_event(12, 1))
    resumed = replace(states[-1], ledger=ledger, users=journal.users[-1])
    rest = list(fedward.rounds(algorithm, MODEL, FEDERATION, rounds=3, seed=1, state=resumed))
    users = rest[-1][0].users
    assert users is not None
    total = sum(users.guarantee(user, 1e-5, "rdp").rounds for user in range(12))
    if source == "seeded":
        whole = end(algorithm, rounds=3)
        assert torch.equal(rest[-1][0].parameters, whole.parameters)
        assert whole.users is not None
        assert np.array_equal(users.history_of, whole.users.history_of)
        assert users.histories == whole.users.histories
    else:
        charged_in_vain = np.zeros(12, dtype=np.int64)
        charged_in_vain[reserved.users] = 1
        before = states[-1].users
        assert before is not None
        for user in range(12):
            least = before.guarantee(user, 1e-5, "rdp").rounds + charged_in_vain[user]
            assert users.guarantee(user, 1e-5, "rdp").rounds >= least
        assert total >= len(reserved.users)


@pytest.mark.parametrize("accountant", ["rdp", "moments"])
def test_a_budget_ends_training_before_any_user_overspends(accountant: str) -> None:
    algorithm = insdp(local=dp_sgd(steps=3, noise_multiplier=2.0))
    limit = algorithm.guarantee(12, 3, 1e-5, accountant).epsilon
    budget = Budget(epsilon=limit, delta=1e-5, accountant=accountant)
    steps = list(fedward.rounds(algorithm, MODEL, FEDERATION, rounds=20, seed=1, budget=budget))
    users = steps[-1][0].users
    assert users is not None
    # Exactly spent is not overspent: somebody took part three times, and nobody will a fourth time.
    assert users.guarantees(1e-5, accountant).worst.rounds == 3
    assert users.guarantees(1e-5, accountant).worst.epsilon <= limit
    rounds = len(steps)
    assert rounds < 20
    unlimited = list(fedward.rounds(algorithm, MODEL, FEDERATION, rounds=rounds + 1, seed=1))[-1][0].users
    assert unlimited is not None
    assert unlimited.guarantees(1e-5, accountant).worst.epsilon > limit


def test_one_user_over_the_budget_ends_the_training_for_all() -> None:
    """Of two that spent different things, neither more than the other in all of them."""
    algorithm = insdp(sampler=FixedSizeSampler(size=6))
    start = algorithm.init(START, 0, 12)
    assert start.users is not None
    cohort = plan_round(algorithm, start, FEDERATION.roster, None, 1).cohort
    absent = np.setdiff1d(np.arange(12), cohort)[:1]
    spent = start.users.reserve(0, absent, GaussianDpEvent(0.5)).settle(0)
    budget = Budget(epsilon=algorithm.guarantee(12, 2, 1e-5, "rdp").epsilon, delta=1e-5, accountant="rdp")
    for users, rounds in ((start.users, 2), (spent, 0)):
        state = replace(start, users=users)
        steps = fedward.rounds(algorithm, MODEL, FEDERATION, rounds=2, seed=1, budget=budget, state=state)
        assert len(list(steps)) == rounds


def test_a_budget_that_no_round_fits_in_is_refused() -> None:
    for algorithm in (insdp(), ldp(), insdp_fedsgd(**FEDSGD)):
        with pytest.raises(InvalidValue, match="at least what one round costs"):
            fedward.rounds(
                algorithm,
                MODEL,
                FEDERATION,
                rounds=3,
                seed=1,
                budget=Budget(epsilon=1e-3, delta=1e-5, accountant="rdp"),
            )


def test_a_budget_for_the_noise_of_a_cohort_is_about_the_cohort() -> None:
    algorithm = insdp_fedsgd(**FEDSGD)
    limit = algorithm.guarantee(12, 2, 1e-5, "rdp").epsilon
    budget = Budget(epsilon=limit, delta=1e-5, accountant="rdp")
    assert len(list(fedward.rounds(algorithm, MODEL, FEDERATION, rounds=5, seed=1, budget=budget))) == 2


def states() -> dict[str, tuple[Algorithm, ServerState, str]]:
    poisson = PoissonSampler(rate=0.5)
    protected = end(insdp(), rounds=1)
    central = tiny_algorithm()
    bare = replace(central, sampler=poisson)
    few = insdp().init(START, 0, 5)
    return {
        "no ledgers": (insdp(), replace(protected, users=None), "a ledger for each of 12 users"),
        "ledgers of others": (insdp(), few, "a ledger for each of 12 users"),
        "public sizes": (replace(insdp(), public_sizes=True), protected, "users protected by"),
        "the server protects": (
            bare,
            replace(protected, ledger=bare.new_ledger()),
            "a training that the server protects",
        ),
        "another source": (
            insdp(local=dp_sgd(noise_source="system")),
            protected,
            "same sampling, noise source and guarantee",
        ),
    }


@pytest.mark.parametrize("name", states())
def test_a_state_of_another_training_is_refused(name: str) -> None:
    algorithm, state, message = states()[name]
    with pytest.raises(InvalidValue, match=message):
        fedward.rounds(algorithm, MODEL, FEDERATION, rounds=3, seed=1, state=state)


def test_users_with_ledgers_need_a_number() -> None:
    with pytest.raises(InvalidValue, match="number of users must be given"):
        insdp().init(START)
    assert tiny_algorithm().init(START).users is None
    assert insdp_fedsgd(**FEDSGD).init(START).users is None


def test_another_trainer_goes_on_and_the_ledgers_hold_both() -> None:
    protected, other = end(insdp(), rounds=1), insdp(local=dp_sgd(steps=2))
    steps = fedward.rounds(other, MODEL, FEDERATION, rounds=2, seed=1, state=protected)
    users = list(steps)[-1][0].users
    assert users is not None
    assert users.events == (insdp().user_event(0), other.user_event(1))
    both = [user for user in range(12) if "steps a round" in users.ledger(user).sampling]
    assert both
    assert all("2 steps a round" in users.ledger(user).sampling for user in both)
