"""Rounds in which users protect themselves: with which seeds, for which rows, on which models."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import fedward
from core.self_protected import FEDERATION, FEDSGD, MODEL, START, OwnStream, dp_sgd, end, insdp, ldp
from fedward.backends.compute import Compute
from fedward.backends.open import open_backend
from fedward.base.validate import InvalidValue
from fedward.clipping import Quantile
from fedward.core.algorithm import Algorithm
from fedward.core.parameters import FlatModule
from fedward.core.receive import receive
from fedward.core.round import finish_round, plan_round
from fedward.core.types import Job, PrivateTrainer, RoundLog, Row, ServerState
from fedward.local import NoisyGradient
from fedward.presets import dopamine, insdp_fedsgd, user_dp_fedavg
from fedward.sampling import EveryoneSampler, FixedSizeSampler
from support import Tamperer, one_round, plan_simulated, tiny_model, tiny_sgd


@pytest.mark.parametrize("algorithm", [insdp(), ldp()], ids=lambda algorithm: algorithm.name)
def test_two_replicas_differ_and_two_runs_of_one_do_not(algorithm: Algorithm) -> None:
    one, again, other = (end(algorithm, replica=replica) for replica in (0, 0, 1))
    assert torch.equal(one.parameters, again.parameters)
    assert not torch.allclose(one.parameters, other.parameters, atol=1e-3)


@pytest.mark.parametrize("algorithm", [insdp(sampler=EveryoneSampler()), ldp()], ids=lambda a: a.name)
def test_jobs_are_private_and_their_seeds_differ_by_replica_round_and_user(algorithm: Algorithm) -> None:
    seeds = []
    for replica in (0, 1):
        for t in (0, 1):
            state = replace(algorithm.init(START, replica, 12), round=t)
            plan = plan_round(algorithm, state, FEDERATION.roster, None, 1)
            assert all(job.private for job in plan.jobs)
            seeds += [job.seed for job in plan.jobs]
            assert [job.seed for job in plan.jobs] == [
                job.seed for job in plan_round(algorithm, state, FEDERATION.roster, None, 1).jobs
            ]
    assert len(set(seeds)) == len(seeds) == 2 * 2 * 12


def test_jobs_without_private_randomness_have_the_same_seeds_in_every_replica() -> None:
    """What local shuffling may share, noise must not."""
    algorithm = user_dp_fedavg(
        num_users=12, sampler=EveryoneSampler(), local=tiny_sgd(), clip_bound=0.5, noise_multiplier=1.0
    )
    plans = [plan_round(algorithm, algorithm.init(START, r), FEDERATION.roster, None, 1) for r in (0, 1)]
    assert not any(job.private for plan in plans for job in plan.jobs)
    assert [job.seed for job in plans[0].jobs] == [job.seed for job in plans[1].jobs]
    private = plan_round(ldp(), ldp().init(START, 0, 12), FEDERATION.roster, None, 1)
    assert not {job.seed for job in private.jobs} & {job.seed for job in plans[0].jobs}


@pytest.mark.parametrize(
    "algorithm",
    [insdp(local=dp_sgd(noise_source="system")), ldp(noise_source="system")],
    ids=lambda algorithm: algorithm.name,
)
def test_with_system_entropy_two_runs_differ_and_no_telemetry_is_kept(algorithm: Algorithm) -> None:
    runs = [list(fedward.rounds(algorithm, MODEL, FEDERATION, rounds=2, seed=1)) for _ in range(2)]
    assert not torch.allclose(runs[0][-1][0].parameters, runs[1][-1][0].parameters, atol=1e-4)
    assert all(log.telemetry is None for run in runs for _, log in run)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    "local", [dp_sgd(noise_source="system"), OwnStream(inner=dp_sgd())], ids=["dp-sgd", "own"]
)
def test_with_system_entropy_the_server_does_not_know_a_users_seed(workers: int, local: Any) -> None:
    """Each user draws its own where it trains, anew for every training."""
    algorithm = replace(insdp(), local=local)
    plan = plan_round(algorithm, algorithm.init(START, 0, 12), FEDERATION.roster, None, 1)
    assert plan.jobs
    assert all(job.private and job.seed is None for job in plan.jobs)
    with open_backend(MODEL, FEDERATION, Compute(workers=workers)) as backend:
        rows = [row.update for _ in range(2) for row in backend.train(plan.jobs)]
    assert len({tuple(row.tolist()) for row in rows}) == len(rows)


def test_cohorts_are_drawn_from_system_entropy_as_well() -> None:
    algorithm = insdp(sampler=FixedSizeSampler(size=6), local=dp_sgd(noise_source="system"))
    cohorts = {
        tuple(plan_round(algorithm, algorithm.init(START, 0, 12), FEDERATION.roster, None, 1).cohort.tolist())
        for _ in range(8)
    }
    assert len(cohorts) > 1


def test_rows_with_noise_are_not_clipped_by_the_server() -> None:
    algorithm = ldp(noise_multiplier=50.0)
    state = algorithm.init(START, 0, 12)
    plan = plan_round(algorithm, state, FEDERATION.roster, None, 1)
    rows = [row.update for row in fedward.InProcess(MODEL, FEDERATION).train(plan.jobs)]
    assert all(float(row.norm()) > 10 * 0.1 for row in rows)
    assert torch.allclose(end(algorithm, rounds=1).parameters - START, torch.stack(rows).mean(0), atol=1e-5)


def finished(algorithm: Algorithm, rows: Callable[[Job], Row]) -> tuple[ServerState, RoundLog]:
    state = algorithm.init(START, 0, 12)
    plan = plan_round(algorithm, state, FEDERATION.roster, None, 1)
    state = replace(state, ledger=state.ledger.reserve(0, plan.event))
    if state.users is not None:
        event = algorithm.protector.local_event(0)
        state = replace(state, users=state.users.reserve(0, plan.cohort, event))
    received = receive(algorithm, state, plan, [rows(job) for job in plan.jobs], 1)
    return finish_round(algorithm, state, plan, received, 1)


# Noise of the bits next to nothing: the bound shows on which side of it the norms were.
LOOKING = ldp(
    clip_bound=None,
    policy=Quantile(initial=0.1, quantile=0.5, bit_noise=1e-9, expected_cohort=12, learning_rate=0.2),
)


@pytest.mark.parametrize(
    ("reported", "sent", "all_within"),
    [
        (0.01, 100.0, True),  # the norm before clipping and noise counts, not that of the noisy row
        (100.0, 0.0, False),
        (None, 0.0, True),  # who reports nothing is measured
        (None, 100.0, False),
        (math.nan, 0.0, True),  # what is no norm is not taken for one
        (math.inf, 0.0, True),
        (-1.0, 100.0, False),
    ],
)
def test_looks_are_about_the_norms_before_the_users_noise(
    reported: float | None, sent: float, all_within: bool
) -> None:
    state, _ = finished(LOOKING, lambda job: Row(job.user, torch.full_like(START, sent), reported))
    wanted = 0.1 * math.exp(-0.2 * ((1.0 if all_within else 0.0) - 0.5))
    assert state.policy[0] == pytest.approx(wanted)


@pytest.mark.parametrize("update", [None, torch.full_like(START, math.nan), torch.zeros(3)], ids=str)
def test_who_drops_out_or_sends_nonsense_has_no_norm_to_report(update: Any) -> None:
    state, _ = finished(LOOKING, lambda job: Row(job.user, update, 100.0))
    assert state.policy[0] == pytest.approx(0.1 * math.exp(-0.2 * 0.5))


def test_a_real_round_looks_at_real_gradients() -> None:
    gradients = []
    for user in range(12):
        flat = FlatModule(tiny_model())
        gradients.append(
            NoisyGradient(noise_multiplier=1e-9, clip_bound=0.1).train(
                flat, FEDERATION.user(user), np.random.default_rng(0)
            )
        )
    within = sum(norm <= 0.1 for norm in gradients) / 12
    state = end(replace(LOOKING, local=NoisyGradient(noise_multiplier=500.0)), rounds=1)
    assert state.policy[0] == pytest.approx(0.1 * math.exp(-0.2 * (within - 0.5)))
    assert all(math.isfinite(norm) and norm > 0 for norm in gradients)


@pytest.mark.parametrize("preset", [insdp_fedsgd, dopamine])
@pytest.mark.parametrize("missing", [None, torch.full_like(START, math.inf)], ids=["dropped", "not finite"])
def test_a_round_that_misses_the_noise_of_a_user_keeps_the_model_and_is_paid_for(
    preset: Any, missing: Any
) -> None:
    algorithm = preset(**FEDSGD)
    state = algorithm.init(START)
    first = int(plan_round(algorithm, state, FEDERATION.roster, None, 1).cohort[0])
    ones = torch.ones_like(START)
    after, log, plan = one_round(
        algorithm, state, FEDERATION, lambda user: missing if user == first else ones
    )
    assert torch.equal(after.parameters, START)
    assert log.kept == "the noise of 1 users is missing from the sum, and the guarantee counts on it"
    assert after.ledger.spending == ((plan.event, 1),)
    moved, log, _ = one_round(algorithm, state, FEDERATION, lambda user: ones)
    assert torch.allclose(moved.parameters, START + 1)
    assert log.kept == ""


def test_who_relies_on_its_own_noise_does_not_wait_for_others() -> None:
    state, log = finished(ldp(), lambda job: Row(job.user, None if job.user else torch.ones_like(START)))
    assert torch.allclose(state.parameters, START + 1 / 12)
    assert log.kept == ""
    assert state.users is not None
    assert state.users.histories == ((1,),)


class Mixing(nn.Module):
    """Takes the mean of a batch away from each of its examples."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layer(x - x.mean(dim=0, keepdim=True))
        return out


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), "layer 1 is BatchNorm1d"),
        (Mixing(), "refused under differential privacy"),
    ],
    ids=["batch norm", "mean of the batch"],
)
def test_a_model_that_mixes_examples_is_refused_before_training(model: nn.Module, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        fedward.rounds(insdp(), model, FEDERATION, rounds=1, seed=1)
    with pytest.raises(InvalidValue, match=message):
        fedward.rounds(insdp_fedsgd(**FEDSGD), model, FEDERATION, rounds=1, seed=1)


def test_a_whole_gradient_may_mix_its_own_users_examples_but_not_keep_statistics() -> None:
    assert list(fedward.rounds(ldp(), Mixing(), FEDERATION, rounds=1, seed=1))
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    with pytest.raises(InvalidValue, match="BatchNorm1d"):
        fedward.rounds(ldp(), model, FEDERATION, rounds=1, seed=1)


def test_an_attacker_keeps_its_private_job_whatever_it_sends() -> None:
    algorithm = insdp(sampler=EveryoneSampler())
    adversary = Tamperer({3}, lambda user, update: update * 7)
    plan = plan_simulated(algorithm, algorithm.init(START, 0, 12), FEDERATION, adversary, 1)
    assert all(job.private and isinstance(job.trainer, PrivateTrainer) for job in plan.jobs)
