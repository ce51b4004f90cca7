from __future__ import annotations

from dataclasses import replace

import torch

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
