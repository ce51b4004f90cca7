"""Trainings side by side of which some are refused, fail, or are never finite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from fedward.backends import InProcess
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds, Job, RoundLog, Row
from fedward.lockstep.lockstep import Lockstep, Training
from fedward.privacy.budget import Budget
from fedward.sampling import EveryoneSampler, PoissonSampler
from lockstep.trained_together import FEDERATION, MODEL, SEED, Counted, first_cohort, go, replicas
from support import tiny_algorithm, tiny_sgd


def test_what_does_not_fit_is_refused_before_any_job_runs() -> None:
    backend = Counted()
    together = Lockstep(MODEL, FEDERATION, backend, seed=SEED)
    with pytest.raises(InvalidValue, match="rounds must be"):
        together.start(replicas(1, rounds=0))
    with pytest.raises(InvalidValue, match="budget must be at least"):
        together.start(
            [
                Training(
                    algorithm=tiny_algorithm(),
                    rounds=1,
                    budget=Budget(epsilon=1e-6, delta=1e-9, accountant="rdp"),
                )
            ]
        )
    assert backend.jobs == []


class Failing:
    def at_round(self, round: int, bounds: Bounds) -> Failing:
        return self

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        raise RuntimeError("no such thing")


def test_a_failure_names_user_round_and_replica() -> None:
    trainings = [
        Training(algorithm=tiny_algorithm(local=Failing(), sampler=EveryoneSampler()), rounds=2, replica=4)
    ]
    with pytest.raises(TrainingFailed, match=r"round 1, user 0, replica 4: .*RuntimeError: no such thing"):
        go(trainings)


class Broken:
    """Trains like anybody, but what some users send is not finite."""

    def __init__(self, users: set[int]) -> None:
        self._inner, self._users = InProcess(MODEL, FEDERATION), users

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        for job in jobs:
            (row,) = self._inner.train([job])
            yield replace(row, update=row.update * float("nan")) if job.user in self._users else row


def one_round(trainings: list[Training], backend: Broken) -> list[RoundLog | None]:
    together = Lockstep(MODEL, FEDERATION, backend, seed=SEED)
    return [log for _, log in together.round(trainings, together.start(trainings))]


def test_one_user_whose_updates_are_never_finite_ends_nothing_in_any_number_of_replicas() -> None:
    logs = one_round(replicas(300, sampler=PoissonSampler(rate=0.15)), Broken({3}))
    cohorts = [log.telemetry.cohort for log in logs if log is not None and log.telemetry is not None]
    assert (3,) in cohorts  # one with nobody but that user


def test_a_cohort_without_one_finite_update_ends_nothing_where_others_have_some() -> None:
    trainings = replicas(20, rounds=1, sampler=PoissonSampler(rate=0.15))
    cohorts = [first_cohort(training) for training in trainings]
    first = next(i for i, cohort in enumerate(cohorts) if len(cohort) == 2)
    logs = one_round([trainings[first], *trainings], Broken(set(cohorts[first])))
    assert len(logs) == 21


def test_a_model_that_no_replica_can_train_is_noticed_however_small_the_cohorts() -> None:
    trainings = replicas(6, sampler=PoissonSampler(rate=0.08))
    with pytest.raises(TrainingFailed, match=r"^round 1, user \d+: none of the \d+ honest updates is finite"):
        one_round(trainings, Broken(set(range(12))))


def test_an_algorithm_that_cannot_be_trained_is_noticed_beside_one_that_can() -> None:
    wild = tiny_algorithm(local=tiny_sgd(learning_rate=1e38, epochs=20))
    trainings = [*replicas(3), Training(algorithm=wild, rounds=2)]
    with pytest.raises(TrainingFailed, match="learning rate is too high"):
        go(trainings)


def test_what_diverges_after_a_first_finite_update_ends_nothing_also_in_another_session() -> None:
    trainings = replicas(3, rounds=3, sampler=EveryoneSampler())
    states, _, _ = go([replace(training, rounds=1) for training in trainings])
    together = Lockstep(MODEL, FEDERATION, Broken(set(range(12))), seed=SEED)
    assert [state.round for state, _ in together.round(trainings, states)] == [2, 2, 2]
