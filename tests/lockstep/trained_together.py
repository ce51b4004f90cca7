"""What the tests of trainings side by side share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from fedward.backends import InProcess
from fedward.core.train import train
from fedward.core.types import Job, Row, ServerState
from fedward.lockstep.lockstep import Lockstep, Training
from support import tiny_algorithm, tiny_federation, tiny_model

FEDERATION = tiny_federation()
MODEL = tiny_model()
SEED = 11


class Counted:
    """A backend that remembers what it was asked to run."""

    def __init__(self) -> None:
        self._inner = InProcess(MODEL, FEDERATION)
        self.jobs: list[Job] = []

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        for job in jobs:
            self.jobs.append(job)
            yield from self._inner.train([job])


def go(trainings: list[Training], **options: Any) -> tuple[list[ServerState], Lockstep, Counted]:
    backend = Counted()
    together = Lockstep(MODEL, FEDERATION, backend, seed=SEED, **options)
    states = together.start(trainings)
    for _ in range(max(training.rounds for training in trainings)):
        states = [state for state, _ in together.round(trainings, states)]
    return states, together, backend


def alone(training: Training) -> ServerState:
    backend = InProcess(MODEL, FEDERATION)
    state = training.algorithm.init(
        torch.cat([p.detach().reshape(-1) for p in MODEL.parameters()]),
        training.replica,
        FEDERATION.num_users,
        training.draw,
    )
    for state, _ in train(
        training.algorithm,
        MODEL,
        FEDERATION,
        backend,
        rounds=training.rounds,
        seed=SEED,
        replica=training.replica,
        draw=training.draw,
        adversary=training.adversary,
        budget=training.budget,
    ):
        pass
    return state


def same(a: ServerState, b: ServerState) -> bool:
    return (
        torch.equal(a.parameters, b.parameters)
        and a.ledger == b.ledger
        and a.policy == b.policy
        and (a.round, a.replica) == (b.round, b.replica)
    )


def replicas(count: int, rounds: int = 2, **changes: Any) -> list[Training]:
    algorithm = tiny_algorithm(**changes)
    return [Training(algorithm=algorithm, rounds=rounds, replica=r) for r in range(count)]


def first_cohort(training: Training) -> tuple[int, ...]:
    rounds = train(
        training.algorithm,
        MODEL,
        FEDERATION,
        InProcess(MODEL, FEDERATION),
        rounds=1,
        seed=SEED,
        replica=training.replica,
    )
    telemetry = next(iter(rounds))[1].telemetry
    assert telemetry is not None
    return telemetry.cohort
