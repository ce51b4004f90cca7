from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import fedward
from fedward.attacks.inference.simulation import (
    WatchedBackend,
    drawn_users,
    own_part,
    simulated_move,
    trained_rows,
)
from fedward.base.randomness import local_seed
from fedward.core.parameters import ParameterSpec
from fedward.core.train import train
from fedward.core.types import Row
from fedward.presets import fedavg, median, user_dp_fedavg
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from fedward.server import ServerMomentum, ServerStep
from support import tiny_federation, tiny_model, tiny_sgd


class Remembering:
    """Keeps the rows of the last round."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.rows: dict[int, Row] = {}

    def train(self, jobs: Any) -> Any:
        self.rows = {}
        for row in self._backend.train(jobs):
            self.rows[row.user] = row
            yield row


def one_round(algorithm: Any, seed: int = 3) -> Any:
    federation, model = tiny_federation(num_users=4), tiny_model()
    remembering = Remembering(fedward.InProcess(model, federation))
    watched = WatchedBackend(remembering, victim=1, attacker=0)
    before = algorithm.init(ParameterSpec.of(model).flatten(model), num_users=4)
    after, _ = next(train(algorithm, model, federation, watched, rounds=1, seed=seed, state=before))
    return federation, before, after, remembering.rows, watched.own


def dp(z: float, **options: Any) -> Any:
    return user_dp_fedavg(
        num_users=4,
        sampler=EveryoneSampler(),
        local=tiny_sgd(),
        clip_bound=0.02,
        noise_multiplier=z,
        **options,
    )


@pytest.mark.parametrize(
    "algorithm",
    [
        fedavg(sampler=EveryoneSampler(), local=tiny_sgd()),
        fedavg(sampler=EveryoneSampler(), local=tiny_sgd(), server=ServerStep(learning_rate=0.5)),
        median(sampler=EveryoneSampler(), local=tiny_sgd()),
        dp(1.0),
    ],
    ids=lambda algorithm: algorithm.name,
)
def test_a_round_played_through_with_the_real_rows_and_noise_is_the_real_round(algorithm: Any) -> None:
    federation, before, after, rows, _ = one_round(algorithm)
    move = simulated_move(algorithm, before, federation, rows, 3)
    torch.testing.assert_close(move, after.parameters - before.parameters, rtol=0, atol=0)


def test_other_seeds_draw_other_noise() -> None:
    algorithm = dp(1.0)
    federation, before, after, rows, _ = one_round(algorithm)
    move = simulated_move(algorithm, before, federation, rows, 4)
    assert not torch.allclose(move, after.parameters - before.parameters, atol=1e-3)


@pytest.mark.parametrize("algorithm", [fedavg(sampler=EveryoneSampler(), local=tiny_sgd()), dp(1.0)])
def test_what_is_left_without_its_own_part_is_what_the_others_sent(algorithm: Any) -> None:
    federation, before, after, rows, own = one_round(algorithm)
    mine = own_part(algorithm, own, before)
    assert mine is not None
    silent = rows | {0: Row(0, torch.zeros_like(before.parameters))}
    others = simulated_move(algorithm, before, federation, silent, 3)
    torch.testing.assert_close(after.parameters - before.parameters - mine, others, rtol=1e-4, atol=1e-6)
    assert float(mine.norm()) > 1e-3  # so that the rest says something


@pytest.mark.parametrize(
    "algorithm",
    [
        median(sampler=EveryoneSampler(), local=tiny_sgd()),
        fedavg(sampler=EveryoneSampler(), local=tiny_sgd(), server=ServerMomentum()),
    ],
    ids=["median", "momentum"],
)
def test_from_some_updates_nothing_can_be_taken_out(algorithm: Any) -> None:
    _, before, _, _, own = one_round(algorithm)
    assert own is not None
    assert own_part(algorithm, own, before) is None


def test_an_attacker_that_took_no_part_has_none_to_take_out() -> None:
    _, before, _, _, _ = one_round(dp(1.0))
    assert own_part(dp(1.0), None, before) is None


def test_the_victim_trains_on_what_it_is_given_and_nobody_else_does() -> None:
    federation, model = tiny_federation(num_users=4), tiny_model()
    algorithm = fedavg(sampler=EveryoneSampler(), local=tiny_sgd())
    plain, given = (Remembering(fedward.InProcess(model, federation)) for _ in range(2))
    watched = WatchedBackend(given, victim=1, attacker=0)
    watched.examples = federation.user(3)
    for backend in (plain, watched):
        next(train(algorithm, model, federation, backend, rounds=1, seed=3))
    same = [torch.equal(plain.rows[user].update, given.rows[user].update) for user in range(4)]
    assert same == [True, False, True, True]
    assert watched.own is not None
    assert torch.equal(watched.own.update, given.rows[0].update)
    assert (watched.own.examples, watched.own.cohort_examples) == (5, 20)


def test_the_attacker_trains_as_a_user_with_that_data_would() -> None:
    algorithm = fedavg(sampler=EveryoneSampler(), local=tiny_sgd())
    federation, before, _, rows, _ = one_round(algorithm)
    backend = fedward.InProcess(tiny_model(), federation)
    found = trained_rows(algorithm, before, backend, [federation.user(2)], [local_seed(3, 0, 2)])
    assert torch.equal(found[0].update, rows[2].update)


@pytest.mark.parametrize(
    ("sampler", "sizes"),
    [(EveryoneSampler(), {9, 10}), (FixedSizeSampler(size=4), {4}), (PoissonSampler(rate=0.4), None)],
)
def test_cohorts_are_like_the_servers_with_and_without_some_users(sampler: Any, sizes: Any) -> None:
    algorithm = replace(dp(1.0), sampler=sampler)
    rng, seen = np.random.default_rng(0), set()
    for _ in range(50):
        users = drawn_users(algorithm, 10, rng, present={0, 1}, absent=set())
        assert {0, 1} <= set(users)
        assert users == sorted(set(users))
        without = drawn_users(algorithm, 10, rng, present=set(), absent={0})
        assert 0 not in without
        seen |= {len(users), len(without)}
    assert sizes is None or seen <= sizes | {3}
