"""Runs on disk whose rounds belong together, by noise or by cohorts: killed, resumed, and paid for."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import norm

from fedward.backends import InProcess
from fedward.core.algorithm import Algorithm
from fedward.core.round import draw_cohort
from fedward.core.train import train
from fedward.core.types import ServerState
from fedward.presets import dp_ftrl, user_dp_fedavg
from fedward.rundir import checkpoint
from fedward.rundir.store import open_run
from fedward.sampling import RandomAllocation
from fedward.server import ServerMomentum
from support import tiny_federation, tiny_model, tiny_sgd

FEDERATION, MODEL = tiny_federation(), tiny_model()
ROUNDS = 7


def ftrl(**changes: Any) -> Algorithm:
    keys: dict[str, Any] = {"rounds": ROUNDS, "separation": 3, "noise_multiplier": 4.0, "clip_bound": 0.7}
    return dp_ftrl(num_users=12, local=tiny_sgd(), **keys | changes)


def states(algorithm: Algorithm, state: ServerState | None = None, **options: Any) -> list[ServerState]:
    backend = InProcess(MODEL, FEDERATION)
    options = {"rounds": ROUNDS, "seed": 1, "state": state} | options
    return [after for after, _ in train(algorithm, MODEL, FEDERATION, backend, **options)]


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ(ε) of N(μ, 1) against N(0, 1), in closed form."""
    upper, lower = norm.cdf(mu / 2 - epsilon / mu), norm.cdf(-mu / 2 - epsilon / mu)
    return float(upper - math.exp(epsilon) * lower)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"server": ServerMomentum(momentum=0.8, learning_rate_decay=0.9)},
        {"strategy": "blt", "buffers": 2},
    ],
)
@pytest.mark.parametrize("stop", range(1, ROUNDS))
def test_going_on_from_a_checkpoint_ends_in_the_same_bits(stop: int, changes: dict[str, Any]) -> None:
    whole = states(ftrl(**changes))
    stored = checkpoint.from_bytes(checkpoint.to_bytes(whole[stop - 1]), "checkpoint")
    end = states(ftrl(**changes), stored)[-1]
    assert torch.equal(end.parameters, whole[-1].parameters)
    assert end.ledger == whole[-1].ledger


@pytest.mark.parametrize(("amplified", "strategy"), [(False, "banded"), (True, "banded"), (False, "blt")])
def test_with_system_entropy_a_round_that_is_done_again_has_other_noise_and_is_paid_for(
    tmp_path: Path, amplified: bool, strategy: str
) -> None:
    algorithm = ftrl(noise_source="system", amplified=amplified, there=0.5, strategy=strategy)
    backend = InProcess(MODEL, FEDERATION)
    with open_run(tmp_path / "run") as directory:
        rounds = train(algorithm, MODEL, FEDERATION, backend, rounds=ROUNDS, seed=1, journal=directory)
        directory.save_round(*next(rounds))
        lost, _ = next(rounds)  # somebody may have seen it, and it was never stored
    with open_run(tmp_path / "run") as directory:
        stored = directory.load_state()
        assert stored is not None
        after = states(algorithm, directory.with_reservation(stored), journal=directory)
    assert not torch.equal(after[0].parameters, lost.parameters)
    once = algorithm.guarantee(12, ROUNDS, 1e-5, "pld")
    spent = after[-1].ledger.guarantee(1e-5, "pld")
    assert spent.rounds == ROUNDS
    assert "1 more charged: reserved, not released" in str(spent)
    # Twice the squared distance; of drawn users without any gain from drawing, and what was paid before.
    least = math.sqrt(2 * 3) / 4.0
    assert gaussian_delta(spent.epsilon, least) <= 1e-5
    if not amplified:
        assert gaussian_delta(spent.epsilon, least) == pytest.approx(1e-5, rel=2e-3)
    assert spent.epsilon > once.epsilon


def test_a_seeded_round_that_is_done_again_costs_nothing(tmp_path: Path) -> None:
    algorithm, backend = ftrl(), InProcess(MODEL, FEDERATION)
    with open_run(tmp_path / "run") as directory:
        rounds = train(algorithm, MODEL, FEDERATION, backend, rounds=ROUNDS, seed=1, journal=directory)
        directory.save_round(*next(rounds))
        next(rounds)
    with open_run(tmp_path / "run") as directory:
        stored = directory.load_state()
        assert stored is not None
        end = states(algorithm, directory.with_reservation(stored), journal=directory)[-1]
    whole = states(algorithm)[-1]
    assert torch.equal(end.parameters, whole.parameters)
    assert end.ledger == whole.ledger


def allocated(**changes: Any) -> Algorithm:
    keys: dict[str, Any] = {"noise_multiplier": 4.0, "clip_bound": 0.7}
    sampler = RandomAllocation(epoch=3)
    return user_dp_fedavg(num_users=12, sampler=sampler, local=tiny_sgd(), **keys | changes)


@pytest.mark.parametrize("stop", range(1, ROUNDS))
def test_random_allocation_goes_on_from_a_checkpoint_to_the_same_bits(stop: int) -> None:
    whole = states(allocated())
    stored = checkpoint.from_bytes(checkpoint.to_bytes(whole[stop - 1]), "checkpoint")
    end = states(allocated(), stored)[-1]
    assert torch.equal(end.parameters, whole[-1].parameters)
    assert end.ledger == whole[-1].ledger


def test_with_system_entropy_an_epoch_keeps_its_cohorts_when_a_round_is_done_again(tmp_path: Path) -> None:
    algorithm, backend = allocated(noise_source="system"), InProcess(MODEL, FEDERATION)
    with open_run(tmp_path / "run") as directory:
        rounds = train(algorithm, MODEL, FEDERATION, backend, rounds=ROUNDS, seed=1, journal=directory)
        first = next(rounds)
        directory.save_round(*first)
        lost, _ = next(rounds)  # somebody may have seen it, and it was never stored
    with open_run(tmp_path / "run") as directory:
        stored = directory.load_state()
        assert stored is not None
        assert stored.coins == first[0].coins
        assert len(stored.coins) == 32
        after = states(algorithm, directory.with_reservation(stored), journal=directory)
    assert not torch.equal(after[0].parameters, lost.parameters)
    again, before = (draw_cohort(algorithm, state, FEDERATION.roster, 1) for state in (stored, first[0]))
    assert again.tolist() == before.tolist()
    spent, once = (
        ledger.guarantee(1e-5, "pld") for ledger in (after[-1].ledger, states(algorithm)[-1].ledger)
    )
    assert "1 more charged: reserved, not released" in str(spent)
    assert spent.epsilon > once.epsilon
    # The epoch with the round that was seen twice: two plain releases, and what was charged before.
    assert gaussian_delta(spent.epsilon, math.sqrt(2) / 4.0) <= 1e-5
