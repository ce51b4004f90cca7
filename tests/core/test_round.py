from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.rounds import FEDERATION, GARBAGE, SIZE, numbered, start, zeros
from fedward.aggregation import AllRows, Krum
from fedward.base.randomness import Purpose, stream
from fedward.base.validate import InvalidValue
from fedward.clipping import FixedBound, Quantile
from fedward.core.receive import receive
from fedward.core.round import plan_round
from fedward.core.types import Bounds, PolicyState, Row
from fedward.presets import fedavg, krum
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from fedward.server import ServerMomentum
from support import one_round, tiny_algorithm, tiny_federation, tiny_sgd

ROSTER = FEDERATION.roster


@pytest.mark.parametrize("kind", GARBAGE)
def test_a_user_that_sends_garbage_costs_itself_and_is_counted(kind: str) -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    honest = torch.Generator().manual_seed(0)
    updates = [torch.randn(SIZE, generator=honest) for _ in range(12)]

    with_garbage, log, _ = one_round(
        algorithm, start(algorithm), FEDERATION, lambda u: GARBAGE[kind] if u == 3 else updates[u]
    )
    with_zero, _, _ = one_round(
        algorithm, start(algorithm), FEDERATION, lambda u: torch.zeros(SIZE) if u == 3 else updates[u]
    )
    assert torch.equal(with_garbage.parameters, with_zero.parameters)
    assert log.telemetry is not None
    assert log.telemetry.rejected == (3,)
    assert log.telemetry.dropped == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_an_update_of_another_float_type_is_taken(dtype: torch.dtype) -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    taken, log, _ = one_round(
        algorithm, start(algorithm), FEDERATION, lambda u: torch.full((SIZE,), 0.5, dtype=dtype)
    )
    same, _, _ = one_round(algorithm, start(algorithm), FEDERATION, lambda u: torch.full((SIZE,), 0.5))
    assert log.telemetry is not None
    assert log.telemetry.rejected == ()
    assert torch.equal(taken.parameters, same.parameters)


@settings(max_examples=60)
@given(st.lists(st.floats(width=32) | st.sampled_from([1e30, -3e38, 1e-45]), min_size=SIZE, max_size=SIZE))
def test_whatever_one_user_sends_the_model_moves_by_at_most_the_bound(sent: list[float]) -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    changed, _, _ = one_round(
        algorithm, start(algorithm), FEDERATION, lambda u: torch.tensor(sent) if u == 0 else None
    )
    without, _, _ = one_round(algorithm, start(algorithm), FEDERATION, lambda u: None)
    move = (changed.parameters.double() - without.parameters.double()).norm()
    assert float(move) <= 0.7 / 12 * (1 + 1e-5) + 1e-6  # the model itself is float32


def test_a_user_that_drops_out_counts_as_zero_and_the_divisor_stays() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    one = torch.zeros(SIZE)
    one[0] = 0.5
    dropped, log, _ = one_round(algorithm, start(algorithm), FEDERATION, lambda u: None if u == 0 else one)
    silent, _, _ = one_round(
        algorithm, start(algorithm), FEDERATION, lambda u: torch.zeros(SIZE) if u == 0 else one
    )
    assert torch.equal(dropped.parameters, silent.parameters)
    assert log.telemetry is not None
    assert log.telemetry.dropped == 1


@pytest.mark.parametrize("sampler", [PoissonSampler(rate=0.5), PoissonSampler(rate=1e-9), EveryoneSampler()])
def test_the_released_mean_of_zero_updates_has_the_declared_deviation(sampler: Any) -> None:
    """z S / (q N), whether the cohort is empty (rate 1e-9) or not: noise does not depend on who came."""
    algorithm = tiny_algorithm(sampler=sampler, clip_bound=0.3, noise_multiplier=2.0)
    wanted = 2.0 * 0.3 / sampler.expected_size(12)
    state = replace(start(algorithm), parameters=torch.zeros(SIZE, dtype=torch.float64))
    released = []
    for _ in range(400):
        after, _, plan = one_round(
            algorithm, state, FEDERATION, lambda u: torch.zeros(SIZE, dtype=torch.float64)
        )
        released.append(after.parameters - state.parameters)
        state = after
        if sampler == PoissonSampler(rate=1e-9):
            assert len(plan.cohort) == 0
    values = torch.cat(released)
    n = len(values)
    # Six standard errors of a sample deviation and of a sample mean.
    assert float(values.std()) == pytest.approx(wanted, rel=6 / math.sqrt(2 * n))
    assert abs(float(values.mean())) < 6 * wanted / math.sqrt(n)
    # Coordinates and rounds do not repeat each other's noise.
    assert len(torch.unique(values)) == n


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    algorithm = tiny_algorithm()
    results = [one_round(algorithm, start(algorithm), FEDERATION, zeros, seed=seed)[0] for seed in (1, 1, 2)]
    assert torch.equal(results[0].parameters, results[1].parameters)
    assert not torch.equal(results[0].parameters, results[2].parameters)


def test_replicas_share_local_seeds_and_nothing_else() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    plans = [plan_round(algorithm, start(algorithm, replica), ROSTER, None, 1) for replica in (0, 1)]
    assert [job.seed for job in plans[0].jobs] == [job.seed for job in plans[1].jobs]
    a, b = (one_round(algorithm, start(algorithm, r), FEDERATION, zeros)[0].parameters for r in (0, 1))
    assert not torch.equal(a, b)
    poisson = tiny_algorithm(sampler=PoissonSampler(rate=0.5))
    cohorts = {tuple(plan_round(poisson, start(poisson, r), ROSTER, None, 1).cohort) for r in range(10)}
    assert len(cohorts) > 1


def test_system_entropy_repeats_neither_cohort_nor_noise_and_keeps_no_telemetry() -> None:
    algorithm = tiny_algorithm(noise_source="system")
    rounds = [one_round(algorithm, start(algorithm), FEDERATION, zeros) for _ in range(12)]
    assert len({tuple(plan.cohort) for _, _, plan in rounds}) > 1
    assert len({tuple(state.parameters.tolist()) for state, _, _ in rounds}) == len(rounds)
    assert all(log.telemetry is None for _, log, _ in rounds)


def test_system_entropy_noise_has_the_declared_deviation() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler(), noise_source="system")
    state = replace(start(algorithm), parameters=torch.zeros(SIZE, dtype=torch.float64))
    moves = [
        one_round(algorithm, state, FEDERATION, lambda u: torch.zeros(SIZE, dtype=torch.float64))[
            0
        ].parameters
        for _ in range(300)
    ]
    values = torch.cat(moves)
    # Seven standard errors: this test has no seed, and must not fail by chance.
    assert float(values.std()) == pytest.approx(0.7 / 12, rel=7 / math.sqrt(2 * len(values)))


@dataclass(frozen=True, kw_only=True)
class HalvingBound(FixedBound):
    """Moves after every round, so that a round that uses the new bound too early is found out."""

    def init(self) -> PolicyState:
        return (0.7,)

    def bound(self, policy: PolicyState, round: int, norms: list[Bounds] | None) -> Bounds:
        return policy

    def move(
        self, policy: PolicyState, round: int, bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> PolicyState:
        return (policy[0] / 2,)


def test_the_bound_moves_after_the_noise_of_the_round_was_drawn() -> None:
    moving = replace(tiny_algorithm(), policy=HalvingBound(clip_bound=0.7))
    fixed = tiny_algorithm(clip_bound=0.7)
    after_moving, log, _ = one_round(moving, start(moving), FEDERATION, zeros)
    after_fixed, _, _ = one_round(fixed, start(fixed), FEDERATION, zeros)
    assert torch.equal(after_moving.parameters, after_fixed.parameters)
    assert log.bounds == (0.7,)
    assert after_moving.policy == (0.35,)


@dataclass(frozen=True, kw_only=True)
class LargestNorm(FixedBound):
    reads_norms = True
    unproven = "the bound is a private norm"

    def bound(self, policy: PolicyState, round: int, norms: list[Bounds] | None) -> Bounds:
        assert norms is not None
        return (max(norm[0] for norm in norms),)


def test_a_policy_that_reads_the_norms_sees_all_of_them_first_and_gets_no_epsilon() -> None:
    algorithm = replace(tiny_algorithm(sampler=EveryoneSampler()), policy=LargestNorm(clip_bound=1.0))
    state, log, _ = one_round(
        algorithm, start(algorithm), FEDERATION, lambda u: torch.full((SIZE,), float(u))
    )
    (bound,) = log.bounds
    assert bound == pytest.approx(11 * math.sqrt(SIZE))
    assert "no guarantee" in str(state.ledger.guarantee(1e-3, "pld"))


def test_rows_in_another_order_or_number_than_the_jobs_are_an_error() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    state = start(algorithm)
    plan = plan_round(algorithm, state, ROSTER, None, 1)
    state = replace(state, ledger=state.ledger.reserve(0, plan.event))
    rows = [Row(job.user, torch.zeros(SIZE)) for job in plan.jobs]
    with pytest.raises(InvalidValue, match="in the order of the jobs"):
        receive(algorithm, state, plan, rows[::-1], 1)
    for wrong, found in ((rows[:-1], str(len(rows) - 1)), ([], "0"), ([*rows, rows[0]], "more")):
        with pytest.raises(InvalidValue, match=f"{len(rows)} rows, one for each job, got {found}"):
            receive(algorithm, state, plan, wrong, 1)


def test_a_round_does_not_change_the_state_it_began_with() -> None:
    algorithm = tiny_algorithm()
    state = start(algorithm)
    before = state.parameters.clone()
    one_round(algorithm, state, FEDERATION, lambda u: torch.ones(SIZE))
    assert torch.equal(state.parameters, before)
    assert state.round == 0


def test_fedavg_weighs_users_by_what_the_server_knows_they_own() -> None:
    federation = tiny_federation(num_users=2)
    sizes = replace(federation, offsets=torch.tensor([0, 9, 10]))
    algorithm = fedavg(sampler=FixedSizeSampler(size=2), local=tiny_sgd())
    state = start(algorithm)
    after, _, _ = one_round(algorithm, state, sizes, lambda u: torch.full((SIZE,), float(u)))
    torch.testing.assert_close(after.parameters, state.parameters + 0.1)


def test_a_round_with_too_few_rows_keeps_the_model_and_says_why() -> None:
    algorithm = krum(sampler=EveryoneSampler(), local=tiny_sgd(), malicious=2, server=ServerMomentum())
    state, _, _ = one_round(algorithm, start(algorithm), FEDERATION, numbered)
    few, log, _ = one_round(
        algorithm, state, FEDERATION, lambda u: numbered(u) if u < 6 else None if u < 9 else GARBAGE["nan"]
    )
    assert torch.equal(few.parameters, state.parameters)
    assert all(torch.equal(a, b) for a, b in zip(few.server, state.server, strict=True))
    assert log.kept == "Krum(malicious=2) needs at least 7 rows, got 6"
    assert few.round == 2
    assert few.ledger.reserved is None
    assert log.telemetry is not None
    assert len(log.telemetry.norms) == 12
    enough, log, _ = one_round(algorithm, state, FEDERATION, lambda u: numbered(u) if u < 7 else None)
    assert log.kept == ""
    assert not torch.equal(enough.parameters, state.parameters)


def test_an_empty_cohort_keeps_the_model_of_a_rule_that_needs_rows() -> None:
    algorithm = krum(sampler=PoissonSampler(rate=1e-9), local=tiny_sgd(), malicious=0)
    state, log, _ = one_round(algorithm, start(algorithm), FEDERATION, numbered)
    assert torch.equal(state.parameters, start(algorithm).parameters)
    assert log.kept == "Krum(malicious=0) needs at least 3 rows, got 0"


def test_rejected_rows_never_come_to_a_rule_that_compares_rows() -> None:
    """As zeros they would stand for honest users who did not move, and could win."""
    algorithm = krum(sampler=EveryoneSampler(), local=tiny_sgd(), malicious=1)
    assert algorithm.aggregator == AllRows(rule=Krum(malicious=1))
    state, _, _ = one_round(
        algorithm, start(algorithm), FEDERATION, lambda u: GARBAGE["nan"] if u < 6 else numbered(u)
    )
    moved = state.parameters - start(algorithm).parameters
    assert any(torch.allclose(moved, numbered(user), atol=1e-3) for user in range(6, 12))


def test_who_drops_out_is_counted_apart_from_who_is_rejected() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    sent = {3: None, 5: GARBAGE["nan"], 7: None}
    _, log, _ = one_round(algorithm, start(algorithm), FEDERATION, lambda u: sent.get(u, zeros(u)))
    assert log.telemetry is not None
    assert (log.telemetry.dropped, log.telemetry.rejected) == (2, (5,))


OTHERS: dict[str, tuple[Purpose, ...]] = {
    kept: tuple(purpose for purpose in get_args(Purpose) if purpose != kept) for kept in ("noise", "look")
}


def test_noise_shares_no_stream_with_any_other_purpose() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    begun = start(algorithm, replica=2)
    state, _, _ = one_round(algorithm, begun, FEDERATION, zeros, seed=5)
    noise = (state.parameters - begun.parameters).double().numpy() / algorithm.noise_std(0.7)
    assert np.std(noise) > 0.1
    for purpose in OTHERS["noise"]:
        drawn = stream(5, purpose, replica=2, round=0).standard_normal(SIZE)
        assert not np.isclose(noise, drawn, atol=1e-3).any(), purpose


class Listening(Quantile):
    """A bound that keeps the number that hides its look."""

    def move(
        self, policy: PolicyState, round: int, bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> PolicyState:
        HEARD.append(float(rng.standard_normal()))
        return policy


HEARD: list[float] = []


def test_a_look_shares_no_stream_with_any_other_purpose() -> None:
    HEARD.clear()
    policy = Listening(initial=0.7, quantile=0.5, bit_noise=1.0, expected_cohort=12)
    algorithm = replace(tiny_algorithm(sampler=EveryoneSampler()), policy=policy)
    one_round(algorithm, start(algorithm, replica=2), FEDERATION, zeros, seed=5)
    (heard,) = HEARD
    drawn = [stream(5, purpose, replica=2, round=0).standard_normal() for purpose in OTHERS["look"]]
    assert heard not in drawn
