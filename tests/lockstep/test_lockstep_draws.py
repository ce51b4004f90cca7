"""Replicas of two draws: what they share, and that it is nothing that a certificate averages over."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
import torch

from core.rounds import FEDERATION, SIZE, start
from core.self_protected import START, insdp
from fedward.base.randomness import Purpose, _key, local_seed, private_local_seed, stream
from fedward.base.validate import InvalidValue
from fedward.clipping import Quantile
from fedward.core.examples import Examples
from fedward.core.round import plan_round
from fedward.core.types import ServerState, Sight
from fedward.lockstep.lockstep import Training
from fedward.sampling import EveryoneSampler
from lockstep.trained_together import alone, go
from support import Tamperer, one_round, tiny_algorithm

A, B = "0a" * 16, "0b" * 16


def test_without_a_draw_every_stream_is_the_one_it_always_was() -> None:
    """Numbers of commit fc34a4a: stored trainings are resumed to the same bits."""
    assert _key(7, "noise", 0, 3, None, "") == 0xDF788A1F8392E059989047556D79BA80
    assert _key(0, "sampling", 11, 0, None, "") == 0x9F463696153AD6A27C3CCD43FAEBE4FC
    assert _key(7, "poisoning", None, None, 5, "") == 0x794D594AAA10BAE9EB633429B2B60BB1
    assert private_local_seed(7, 2, 3, 5, "") == 0x14025435628017C532B1E56B3E4BC10E
    assert local_seed(7, 3, 5) == 0x21B0CD774F82BD34


def test_no_two_draws_share_a_stream() -> None:
    names = itertools.product(range(3), get_args(Purpose), (None, 0, 11), (None, 0, 11), (None, 0, 11))
    keys = [_key(*name, draw) for name in names for draw in ("", "a", "a0", A, B)]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("draw", ["A0", "a/0", "0x1", " ", None, 7])
def test_a_draw_must_be_hexadecimal(draw: Any) -> None:
    with pytest.raises(InvalidValue, match="draw must be hexadecimal digits or empty, got"):
        stream(1, "noise", draw=draw)


class Chance(Tamperer):
    """Attackers that keep the data they were to poison and the number that they drew."""

    def __init__(self) -> None:
        super().__init__({1, 2}, lambda user, update: update)
        self.poisoned: list[float] = []
        self.drawn: list[float] = []

    def poison(
        self, user: int, examples: Examples, round: int, rng: np.random.Generator
    ) -> tuple[str, Examples] | None:
        self.poisoned.append(float(rng.random()))
        return None

    def tamper(self, user: int, update: torch.Tensor, sight: Sight, rng: np.random.Generator) -> Any:
        self.drawn.append(float(rng.random()))
        return update


def state_of(algorithm: Any, draw: str) -> ServerState:
    return replace(start(algorithm), draw=draw)


def test_noise_and_the_attackers_chance_differ_by_draw_and_bad_data_does_not() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    after, chances = {}, {}
    for draw in ("", A, B):
        chances[draw] = Chance()
        after[draw], _, _ = one_round(
            algorithm,
            state_of(algorithm, draw),
            FEDERATION,
            lambda u: torch.ones(SIZE),
            adversary=chances[draw],
        )
        assert after[draw].draw == draw
    for one, other in itertools.combinations(("", A, B), 2):
        # Noise is on every parameter: two draws of it share none.
        assert not bool((after[one].parameters == after[other].parameters).any())
        assert not set(chances[one].drawn) & set(chances[other].drawn)
        assert chances[one].poisoned == chances[other].poisoned


def test_cohorts_differ_by_draw_and_local_training_does_not() -> None:
    algorithm = tiny_algorithm()
    plans = {
        draw: [
            plan_round(algorithm, replace(state_of(algorithm, draw), replica=m), FEDERATION.roster, None, 1)
            for m in range(30)
        ]
        for draw in ("", A, B)
    }
    cohorts = {draw: [plan.cohort.tolist() for plan in made] for draw, made in plans.items()}
    for one, other in itertools.combinations(cohorts, 2):
        # Of 12 users each drawn by a coin two cohorts are the same once in 4,096.
        assert sum(a == b for a, b in zip(cohorts[one], cohorts[other], strict=True)) <= 1
    seeds = {job.user: job.seed for plan in plans[""] for job in plan.jobs}
    assert all(job.seed == seeds[job.user] for draw in (A, B) for plan in plans[draw] for job in plan.jobs)


def test_noise_that_users_draw_themselves_differs_by_draw() -> None:
    algorithm = insdp(sampler=EveryoneSampler())
    seeds = []
    for draw in ("", A, B):
        state = algorithm.init(START, 0, FEDERATION.num_users, draw)
        seeds += [job.seed for job in plan_round(algorithm, state, FEDERATION.roster, None, 1).jobs]
    assert len(set(seeds)) == len(seeds) == 3 * FEDERATION.num_users


def test_looks_at_norms_differ_by_draw() -> None:
    policy = Quantile(initial=0.1, quantile=0.5, bit_noise=1.0, expected_cohort=12, learning_rate=0.2)
    algorithm = replace(tiny_algorithm(sampler=EveryoneSampler()), policy=policy)
    bounds = set()
    for draw in ("", A, B):
        state, _, _ = one_round(algorithm, state_of(algorithm, draw), FEDERATION, lambda u: torch.ones(SIZE))
        bounds.add(state.policy)
    assert len(bounds) == 3


def test_trainings_of_two_draws_share_the_first_round_and_nothing_after_it() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    trainings = [
        Training(algorithm=algorithm, rounds=2, replica=m, draw=draw) for draw in (A, B) for m in range(3)
    ]
    states, together, _ = go(trainings)
    users = FEDERATION.num_users
    assert together.run == users + len(trainings) * users
    assert [state.draw for state in states] == [A] * 3 + [B] * 3
    models = {state.parameters.numpy().tobytes() for state in states}
    assert len(models) == len(trainings)
    for training, state in zip(trainings, states, strict=True):
        assert torch.equal(state.parameters, alone(training).parameters)
