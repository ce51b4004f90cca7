from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core.rounds import FEDERATION, GARBAGE, SIZE, numbered, start, zeros
from fedward.core.examples import Examples
from fedward.core.types import Knowledge, Sight, Telemetry
from fedward.sampling import EveryoneSampler, PoissonSampler
from support import Tamperer, one_round, plan_simulated, tiny_algorithm, tiny_federation


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


class Spy(Tamperer):
    """An adversary that keeps what it was shown and sends what it trained."""

    def __init__(self, users: set[int], knowledge: Knowledge, needs_all_rows: bool) -> None:
        super().__init__(users, lambda user, update: update)
        self.knowledge, self.needs_all_rows = knowledge, needs_all_rows
        self.seen: dict[int, Sight] = {}

    def tamper(self, user: int, update: Tensor, sight: Sight, rng: np.random.Generator) -> Any:
        self.seen[user] = sight
        return update


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
    assert spy.seen[2].agreed == {}


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
        "honest_users",
        "memory",
        "previous",
        "agreed",  # theirs: the core puts nothing into it
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
        plan_simulated(algorithm, state, FEDERATION, Drawing({2, 7}, "own", False), 1)
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
