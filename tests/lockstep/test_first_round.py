from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from fedward.core.algorithm import Algorithm
from fedward.core.receive import Received, receive
from fedward.lockstep import lockstep
from fedward.lockstep.lockstep import Training
from fedward.sampling import EveryoneSampler
from lockstep.trained_together import FEDERATION, alone, go
from support import tiny_algorithm

EVERYBODY = replace(tiny_algorithm(), sampler=EveryoneSampler())


def test_trainings_with_everybody_come_to_the_bits_that_each_comes_to_alone() -> None:
    trainings = [Training(algorithm=EVERYBODY, rounds=2, replica=r) for r in range(4)]
    states, together, backend = go(trainings)
    for training, state in zip(trainings, states, strict=True):
        assert torch.equal(state.parameters, alone(training).parameters)
        assert state.ledger == alone(training).ledger
    users = FEDERATION.num_users
    assert together.asked == 4 * 2 * users
    assert together.run == len(backend.jobs) == users + 4 * users


def sums(monkeypatch: pytest.MonkeyPatch) -> list[Algorithm]:
    """The algorithm of every round whose rows are added up from now on."""
    added: list[Algorithm] = []

    def counting(algorithm: Algorithm, *others: Any) -> Received:
        added.append(algorithm)
        return receive(algorithm, *others)

    monkeypatch.setattr(lockstep, "receive", counting)
    return added


def levels(algorithm: Algorithm, replicas: int) -> list[Training]:
    """Replicas at two levels of noise."""
    other = replace(algorithm, mechanism=replace(algorithm.mechanism, multiplier=9.0))  # type: ignore[type-var]
    return [
        Training(algorithm=each, rounds=1, replica=r) for r in range(replicas) for each in (algorithm, other)
    ]


def test_noise_levels_share_the_sum_of_a_replica_and_nothing_of_their_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trainings, added = levels(tiny_algorithm(), 12), sums(monkeypatch)
    states, together, _ = go(trainings)
    assert len(added) <= 12
    assert together.asked > 2 * together.run
    for training, state in zip(trainings, states, strict=True):
        by_itself = alone(training)
        assert torch.equal(state.parameters, by_itself.parameters)
        assert state.ledger == by_itself.ledger
    assert len({state.parameters.numpy().tobytes() for state in states}) == 24


def test_what_changes_the_sum_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    one, added = tiny_algorithm(), sums(monkeypatch)
    other = tiny_algorithm(clip_bound=0.01)
    trainings = [Training(algorithm=each, rounds=1, replica=r) for r in range(4) for each in (one, other)]
    states, _, _ = go(trainings)
    assert {algorithm.policy for algorithm in added} == {one.policy, other.policy}
    for training, state in zip(trainings, states, strict=True):
        assert torch.equal(state.parameters, alone(training).parameters)


def test_levels_of_exact_noise_cut_rows_to_grids_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    added = sums(monkeypatch)
    go(levels(tiny_algorithm(noise_source="system", sampler=EveryoneSampler()), 3))
    assert [algorithm.noise_std(1.0) for algorithm in added] == [1.0 / 12, 9.0 / 12]


def test_two_noise_levels_share_nothing_but_their_jobs() -> None:
    other = replace(EVERYBODY, mechanism=replace(EVERYBODY.mechanism, multiplier=9.0))  # type: ignore[type-var]
    trainings = [
        Training(algorithm=algorithm, rounds=1, replica=r)
        for r in range(3)
        for algorithm in (EVERYBODY, other)
    ]
    states, _, _ = go(trainings)
    for training, state in zip(trainings, states, strict=True):
        assert torch.equal(state.parameters, alone(training).parameters)
    assert len({state.parameters.numpy().tobytes() for state in states}) == 6


def test_later_blocks_share_the_sum_of_the_first() -> None:
    trainings = [Training(algorithm=EVERYBODY, rounds=1, replica=r) for r in range(6)]
    _, together, backend = go(trainings[:2])
    run = together.run
    states = [state for state, _ in together.round(trainings[2:], together.start(trainings[2:]))]
    assert together.run == run == len(backend.jobs)
    assert together.asked == 6 * FEDERATION.num_users
    for training, state in zip(trainings[2:], states, strict=True):
        assert torch.equal(state.parameters, alone(training).parameters)


def test_cohorts_that_come_again_between_others_are_received_right() -> None:
    """Small cohorts of few users: some are drawn several times, with others between them."""
    trainings = [Training(algorithm=tiny_algorithm(), rounds=1, replica=r) for r in range(60)]
    states, _, _ = go(trainings)
    for training, state in zip(trainings, states, strict=True):
        assert torch.equal(state.parameters, alone(training).parameters)
