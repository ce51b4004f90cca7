from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fedward.aggregation import Krum
from fedward.clipping import FixedBound
from fedward.core.examples import Examples
from fedward.core.parameters import ParameterSpec
from fedward.core.round import finish_round, plan_round
from fedward.core.types import Bounds, Knowledge, PolicyState, Row, ServerState, Sight, Telemetry
from fedward.core.validate import InvalidValue
from fedward.presets import fedavg, krum
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from fedward.server import ServerMomentum
from support import Tamperer, one_round, tiny_algorithm, tiny_federation, tiny_model, tiny_sgd

FEDERATION = tiny_federation()
MODEL = tiny_model()
SIZE = ParameterSpec.of(MODEL).size


def start(algorithm: Any, replica: int = 0) -> ServerState:
    state: ServerState = algorithm.init(ParameterSpec.of(MODEL).flatten(MODEL), replica)
    return state


def zeros(user: int) -> Tensor:
    return torch.zeros(SIZE)


GARBAGE: dict[str, Any] = {
    "nan": torch.full((SIZE,), math.nan),
    "one nan in a huge update": torch.cat([torch.full((SIZE - 1,), 1e30), torch.tensor([math.nan])]),
    "inf": torch.full((SIZE,), math.inf),
    "minus inf": torch.cat([torch.zeros(SIZE - 1), torch.tensor([-math.inf])]),
    "too short": torch.ones(SIZE - 1),
    "too long": torch.ones(SIZE + 1),
    "broadcasts as (1,)": torch.ones(1),
    "broadcasts as ()": torch.tensor(1.0),
    "broadcasts as (1, n)": torch.ones(1, SIZE),
    "a column": torch.ones(SIZE, 1),
    "empty": torch.ones(0),
    "integers": torch.ones(SIZE, dtype=torch.int64),
    "booleans": torch.ones(SIZE, dtype=torch.bool),
    "complex": torch.ones(SIZE, dtype=torch.complex64),
    "sparse": torch.ones(SIZE).to_sparse(),
    "float64 beyond float32": torch.full((SIZE,), 1e300, dtype=torch.float64),
    "not a tensor": [1.0] * SIZE,
    "numpy": np.ones(SIZE, dtype=np.float32),
    "text": "update",
}


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
    plans = [plan_round(algorithm, start(algorithm, replica), FEDERATION, None, 1) for replica in (0, 1)]
    assert [job.seed for job in plans[0].jobs] == [job.seed for job in plans[1].jobs]
    a, b = (one_round(algorithm, start(algorithm, r), FEDERATION, zeros)[0].parameters for r in (0, 1))
    assert not torch.equal(a, b)
    poisson = tiny_algorithm(sampler=PoissonSampler(rate=0.5))
    cohorts = {tuple(plan_round(poisson, start(poisson, r), FEDERATION, None, 1).cohort) for r in range(10)}
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
    assert log.bounds == (pytest.approx(11 * math.sqrt(SIZE)),)
    assert "no guarantee" in str(state.ledger.guarantee(1e-3, "pld"))


def test_the_adversary_tampers_before_the_server_clips() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    attack = Tamperer({2}, lambda user, update: update * 1e20)
    attacked, log, _ = one_round(
        algorithm, start(algorithm), FEDERATION, lambda u: torch.ones(SIZE), adversary=attack
    )
    calm, _, _ = one_round(algorithm, start(algorithm), FEDERATION, lambda u: torch.ones(SIZE))
    torch.testing.assert_close(attacked.parameters, calm.parameters, atol=1e-6, rtol=1e-5)
    assert log.telemetry is not None
    assert log.telemetry.norms[2] > 1e19


def test_the_adversary_poisons_and_tampers_with_its_own_users_only() -> None:
    data = Examples(torch.zeros(3, 3), torch.tensor([1, 1, 1]))
    touched: list[int] = []

    def sent(user: int, update: Tensor) -> Tensor:
        touched.append(user)
        return update

    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    _, _, plan = one_round(
        algorithm, start(algorithm), FEDERATION, zeros, adversary=Tamperer({1, 5}, sent, data)
    )
    assert [job.user for job in plan.jobs if job.examples is not None] == [1, 5]
    assert {job.version for job in plan.jobs if job.examples is None} == {""}
    assert touched == [1, 5]


def test_rows_in_another_order_or_number_than_the_jobs_are_an_error() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    state = start(algorithm)
    plan = plan_round(algorithm, state, FEDERATION, None, 1)
    state = replace(state, ledger=state.ledger.reserve(0, plan.event))
    rows = [Row(job.user, torch.zeros(SIZE)) for job in plan.jobs]
    with pytest.raises(InvalidValue, match="in the order of the jobs"):
        finish_round(algorithm, state, plan, rows[::-1], 1)
    with pytest.raises(ValueError, match="shorter"):
        finish_round(algorithm, state, plan, rows[:-1], 1)


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


class Spy(Tamperer):
    """An adversary that keeps what it was shown and sends what it trained."""

    def __init__(self, users: set[int], knowledge: Knowledge, needs_all_rows: bool) -> None:
        super().__init__(users, lambda user, update: update)
        self.knowledge, self.needs_all_rows = knowledge, needs_all_rows
        self.seen: dict[int, Sight] = {}

    def tamper(self, user: int, update: Tensor, sight: Sight, rng: np.random.Generator) -> Any:
        self.seen[user] = sight
        return update


def numbered(user: int) -> Tensor:
    return torch.arange(SIZE, dtype=torch.float32) + 100 * user


@pytest.mark.parametrize("needs_all_rows", [False, True])
def test_an_adversary_that_knows_its_own_sees_neither_cohort_nor_honest_rows(needs_all_rows: bool) -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    spy = Spy({2, 7}, "own", needs_all_rows)
    one_round(algorithm, start(algorithm), FEDERATION, numbered, adversary=spy)
    assert spy.seen.keys() == {2, 7}
    for user, sight in spy.seen.items():
        assert sight.cohort is None
        assert sight.honest is None
        assert sight.own.keys() == ({2, 7} if needs_all_rows else {user})
        assert all(torch.equal(row, numbered(owner)) for owner, row in sight.own.items())
        assert torch.equal(sight.parameters, start(algorithm).parameters)
        assert (sight.round, sight.bounds) == (0, (0.7,))


def test_an_adversary_that_knows_the_cohort_sees_all_honest_rows() -> None:
    algorithm = tiny_algorithm()
    spy = Spy(set(range(6)), "cohort", needs_all_rows=True)
    _, _, plan = one_round(algorithm, start(algorithm), FEDERATION, numbered, adversary=spy)
    cohort = plan.cohort.tolist()
    own, others = [u for u in cohort if u < 6], [u for u in cohort if u >= 6]
    assert own
    assert others
    for sight in spy.seen.values():
        assert sight.cohort == tuple(cohort)
        assert list(sight.own) == own
        assert sight.honest is not None
        assert torch.equal(sight.honest, torch.stack([numbered(u) for u in others]))


def test_honest_rows_are_held_only_for_an_adversary_that_asks_for_them() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    spy = Spy({2}, "cohort", needs_all_rows=False)
    one_round(algorithm, start(algorithm), FEDERATION, numbered, adversary=spy)
    assert spy.seen[2].cohort == tuple(range(12))
    assert spy.seen[2].honest is None


def test_a_cohort_of_attackers_only_has_no_honest_rows_and_one_of_none_asks_nobody() -> None:
    everyone = tiny_algorithm(sampler=EveryoneSampler())
    spy = Spy(set(range(12)), "cohort", needs_all_rows=True)
    _, log, _ = one_round(everyone, start(everyone), FEDERATION, numbered, adversary=spy)
    assert spy.seen[0].honest is not None
    assert spy.seen[0].honest.shape == (0, SIZE)
    assert log.telemetry is not None
    assert log.telemetry.malicious == tuple(range(12))
    nobody = tiny_algorithm(sampler=PoissonSampler(rate=1e-9))
    spy.seen.clear()
    one_round(nobody, start(nobody), FEDERATION, numbered, adversary=spy)
    assert not spy.seen


def test_what_an_adversary_sees_does_not_depend_on_the_noise() -> None:
    assert {field.name for field in fields(Sight)} == {
        "round",
        "parameters",
        "bounds",
        "own",
        "cohort",
        "honest",
    }
    sights = []
    for multiplier in (1e-3, 1e3):
        algorithm = tiny_algorithm(sampler=EveryoneSampler(), noise_multiplier=multiplier)
        spy = Spy({2}, "cohort", needs_all_rows=True)
        one_round(algorithm, start(algorithm), FEDERATION, numbered, adversary=spy)
        sights.append(spy.seen[2])
    quiet, loud = sights
    assert quiet.honest is not None
    assert loud.honest is not None
    assert torch.equal(quiet.honest, loud.honest)
    assert torch.equal(quiet.parameters, loud.parameters)
    assert torch.equal(quiet.own[2], loud.own[2])


def test_the_adversarys_randomness_is_apart_from_the_servers() -> None:
    """It may draw as much as it likes: cohort and noise of the round stay as they were."""

    class Gambler(Spy):
        def tamper(self, user: int, update: Tensor, sight: Sight, rng: np.random.Generator) -> Any:
            drawn[user] = rng.normal(size=SIZE).tolist()
            return update

    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    drawn: dict[int, list[float]] = {}
    gambled, _, _ = one_round(
        algorithm, start(algorithm), FEDERATION, zeros, adversary=Gambler({2, 7}, "own", False)
    )
    calm, _, _ = one_round(algorithm, start(algorithm), FEDERATION, zeros)
    assert torch.equal(gambled.parameters, calm.parameters)
    noise = (calm.parameters - start(algorithm).parameters) / (0.7 / 12)
    for user in (2, 7):
        assert not torch.allclose(noise, torch.tensor(drawn[user]), atol=1e-2)
    assert drawn[2] != drawn[7]
    first = dict(drawn)
    for other in (start(algorithm, replica=1), gambled):
        one_round(algorithm, other, FEDERATION, zeros, adversary=Gambler({2}, "own", False))
        assert drawn[2] != first[2]


def test_bad_data_is_drawn_from_a_stream_of_the_user_alone() -> None:
    drawn: list[tuple[int, float]] = []

    class Drawing(Spy):
        def poison(
            self, user: int, examples: Examples, round: int, rng: np.random.Generator
        ) -> tuple[str, Examples] | None:
            drawn.append((user, float(rng.normal())))
            return None

    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    for state in (start(algorithm), start(algorithm, replica=3), replace(start(algorithm), round=5)):
        plan_round(algorithm, state, FEDERATION, Drawing({2, 7}, "own", False), 1)
    assert drawn[0:2] == drawn[2:4] == drawn[4:6]
    assert drawn[0][1] != drawn[1][1]


class Vandal(Spy):
    """Writes into every tensor that it is shown, and sends what it was given."""

    def poison(
        self, user: int, examples: Examples, round: int, rng: np.random.Generator
    ) -> tuple[str, Examples] | None:
        assert isinstance(examples.x, Tensor)
        examples.x.fill_(math.nan)
        examples.y.fill_(0)
        return None

    def tamper(self, user: int, update: Tensor, sight: Sight, rng: np.random.Generator) -> Any:
        for tensor in (sight.parameters, sight.honest, *sight.own.values()):
            if tensor is not None:
                tensor.fill_(math.nan)
        sent = update.clone()
        update.fill_(math.nan)
        return sent


@pytest.mark.parametrize("knowledge", ["own", "cohort"])
@pytest.mark.parametrize("needs_all_rows", [False, True])
def test_an_adversary_that_writes_into_what_it_is_shown_changes_nothing(
    knowledge: Knowledge, needs_all_rows: bool
) -> None:
    algorithm, federation = tiny_algorithm(sampler=EveryoneSampler()), tiny_federation()
    state, rows = start(algorithm), [numbered(user) for user in range(12)]
    vandal = Vandal({0, 2, 7}, knowledge, needs_all_rows)
    attacked, log, _ = one_round(algorithm, state, federation, lambda u: rows[u], adversary=vandal)
    calm, _, _ = one_round(algorithm, start(algorithm), FEDERATION, numbered)
    assert torch.equal(attacked.parameters, calm.parameters)
    assert torch.equal(state.parameters, start(algorithm).parameters)
    assert all(torch.equal(row, numbered(user)) for user, row in enumerate(rows))
    assert isinstance(federation.examples.x, Tensor)
    assert isinstance(FEDERATION.examples.x, Tensor)
    assert torch.equal(federation.examples.x, FEDERATION.examples.x)
    assert torch.equal(federation.examples.y, FEDERATION.examples.y)
    assert log.telemetry is not None
    assert log.telemetry.rejected == ()


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_of_others_neither_stops_an_all_knowing_adversary_nor_is_shown_to_it(kind: str) -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    spy = Spy({2}, "cohort", needs_all_rows=True)
    _, log, _ = one_round(
        algorithm,
        start(algorithm),
        FEDERATION,
        lambda u: GARBAGE[kind] if u == 3 else None if u == 4 else numbered(u),
        adversary=spy,
    )
    honest = spy.seen[2].honest
    assert honest is not None
    assert torch.equal(honest, torch.stack([numbered(u) for u in range(12) if u not in (2, 3, 4)]))
    assert log.telemetry is not None
    assert log.telemetry.rejected == (3,)
    assert log.telemetry.dropped == 1


@pytest.mark.parametrize("needs_all_rows", [False, True])
def test_an_attacker_that_drops_out_or_trains_garbage_is_not_asked(needs_all_rows: bool) -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    spy = Spy({2, 5, 7}, "own", needs_all_rows)
    sent: dict[int, Any] = {2: None, 5: "update"}
    _, log, _ = one_round(
        algorithm, start(algorithm), FEDERATION, lambda u: sent.get(u, zeros(u)), adversary=spy
    )
    assert spy.seen.keys() == {7}
    assert spy.seen[7].own.keys() == {7}
    assert log.telemetry is not None
    assert (log.telemetry.dropped, log.telemetry.rejected) == (1, (5,))


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
    assert isinstance(algorithm.aggregator, Krum)
    state, _, _ = one_round(
        algorithm, start(algorithm), FEDERATION, lambda u: GARBAGE["nan"] if u < 6 else numbered(u)
    )
    moved = state.parameters - start(algorithm).parameters
    assert any(torch.allclose(moved, numbered(user), atol=1e-3) for user in range(6, 12))


def test_norms_of_honest_and_malicious_users_are_told_apart() -> None:
    algorithm = tiny_algorithm()
    attack = Tamperer({1, 4, 8}, lambda user, update: update * (math.inf if user == 4 else 10.0))
    state, sizes = start(algorithm), {user: float(user + 1) for user in range(12)}
    for _ in range(4):
        state, log, plan = one_round(
            algorithm,
            state,
            FEDERATION,
            lambda u: torch.full((SIZE,), sizes[u]),
            adversary=attack,
        )
        cohort = plan.cohort.tolist()
        telemetry = log.telemetry
        assert telemetry is not None
        assert telemetry.malicious == tuple(user for user in cohort if user in (1, 4, 8))
        honest = [sizes[user] * math.sqrt(SIZE) for user in cohort if user not in (1, 4, 8)]
        bad = [10 * sizes[user] * math.sqrt(SIZE) for user in cohort if user in (1, 8)]
        assert telemetry.norms_of(malicious=False) == pytest.approx(honest)
        # What user 4 sent was rejected and has no norm; a zero would pull the mean down.
        assert telemetry.norms_of(malicious=True) == pytest.approx(bad)


def test_without_an_adversary_nobody_is_malicious() -> None:
    telemetry = Telemetry(cohort=(1, 3), dropped=0, rejected=(), norms=(0.5, 2.0))
    assert telemetry.norms_of(malicious=False) == (0.5, 2.0)
    assert telemetry.norms_of(malicious=True) == ()
