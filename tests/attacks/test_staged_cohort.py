from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedward
from fedward.attacks import Attack, PerCohort
from fedward.attacks.model_poisoning import Scale
from fedward.attacks.staged_cohort import StagedCohort
from fedward.base.validate import InvalidValue
from fedward.certificates.threat import ThreatModel, certifiable, certifiable_algorithm
from fedward.core.types import Sampler
from fedward.privacy import ledger_file
from fedward.privacy.terms import ExactAttackers
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from support import tiny_algorithm, tiny_federation, tiny_model

ATTACK = Attack(who=PerCohort(count=4, each=2), model=(Scale(factor=2.0),))
SAMPLERS: list[Sampler] = [FixedSizeSampler(size=5), PoissonSampler(rate=0.5)]


@given(data=st.data(), fixed=st.booleans())
def test_every_cohort_has_exactly_so_many_attackers(data: st.DataObject, fixed: bool) -> None:
    num_users = data.draw(st.integers(1, 30))
    attackers = data.draw(st.sets(st.integers(0, num_users - 1)).map(lambda users: tuple(sorted(users))))
    each = data.draw(st.integers(0, len(attackers)))
    if fixed:
        most = each + num_users - len(attackers)
        size = data.draw(st.integers(max(1, each), max(1, most)))
        if size > most:
            return
        sampler: Any = FixedSizeSampler(size=size)
    else:
        sampler = PoissonSampler(rate=data.draw(st.floats(max(0.01, each / num_users), 1.0)))
        if each > sampler.expected_size(num_users):
            return
    staged = StagedCohort(sampler=sampler, attackers=attackers, each=each)
    staged.check(num_users)
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    for _ in range(3):
        cohort = staged.draw(num_users, rng)
        assert (np.diff(cohort) > 0).all()
        assert cohort.dtype == np.int64
        assert set(cohort.tolist()) <= set(range(num_users))
        assert len(set(cohort.tolist()) & set(attackers)) == each
        if fixed:
            assert len(cohort) == sampler.size


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_attackers_and_honest_users_are_drawn_as_declared(sampler: Any) -> None:
    staged = StagedCohort(sampler=sampler, attackers=(1, 4, 6, 9), each=2)
    draws, rng = 4000, np.random.default_rng(0)
    times, sizes, pairs = np.zeros(12), [], 0
    for _ in range(draws):
        cohort = staged.draw(12, rng)
        times[cohort] += 1
        sizes.append(len(cohort))
        pairs += 0 in cohort and 2 in cohort
    honest = np.setdiff1d(np.arange(12), staged.attackers)
    rate = 3 / 8 if isinstance(sampler, FixedSizeSampler) else 0.5
    together = rate * 2 / 7 if isinstance(sampler, FixedSizeSampler) else 0.25
    wanted = np.full(12, 0.5)
    wanted[honest] = rate
    # Six standard errors of a share.
    assert np.abs(times / draws - wanted).max() < 6 * math.sqrt(0.25 / draws)
    assert pairs / draws == pytest.approx(together, abs=6 * math.sqrt(0.25 / draws))
    assert np.mean(sizes) == pytest.approx(staged.expected_size(12), abs=6 * math.sqrt(2 / draws))
    assert np.var(sizes) == pytest.approx(8 * 0.25 if sampler == SAMPLERS[1] else 0.0, rel=0.15)


def test_the_guarantee_is_that_of_the_honest_users_among_themselves() -> None:
    """m - P_m of N - P: a smaller part of fewer, so less amplification than 5 of 12 would claim."""
    algorithm = tiny_algorithm(sampler=FixedSizeSampler(size=5))
    staged = ATTACK.stage(algorithm, tiny_federation(), 1).algorithm
    honest = tiny_algorithm(sampler=FixedSizeSampler(size=3)).guarantee(8, 3, 1e-3, "rdp")
    assert staged.guarantee(12, 3, 1e-3, "rdp").epsilon == honest.epsilon
    assert staged.sampler.adjacency == "replace-one"

    poisson = tiny_algorithm()
    staged = ATTACK.stage(poisson, tiny_federation(), 1).algorithm
    assert staged.round_event(12, 0) == poisson.round_event(12, 0)
    assert staged.sampler.adjacency == "add/remove"


@pytest.mark.parametrize(("num_users", "attackers", "size"), [(6, 6, 3), (6, 4, 2)])
def test_where_no_honest_user_is_drawn_the_claim_is_still_finite(
    num_users: int, attackers: int, size: int
) -> None:
    sampler = StagedCohort(sampler=FixedSizeSampler(size=size), attackers=tuple(range(attackers)), each=size)
    algorithm = tiny_algorithm(sampler=FixedSizeSampler(size=size), num_users=num_users)
    attack = Attack(who=PerCohort(count=attackers, each=size), model=(Scale(factor=2.0),))
    staged = attack.stage(algorithm, tiny_federation(num_users=num_users), 1).algorithm
    assert set(sampler.draw(num_users, np.random.default_rng(0)).tolist()) <= set(range(attackers))
    assert 0 < staged.guarantee(num_users, 3, 1e-3, "rdp").epsilon < math.inf


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_a_training_with_staged_cohorts_says_so_and_is_not_certified(sampler: Any) -> None:
    federation = tiny_federation()
    staged = ATTACK.stage(tiny_algorithm(sampler=sampler), federation, 1)
    states = list(
        fedward.rounds(
            staged.algorithm, tiny_model(), federation, rounds=3, seed=1, adversary=staged.adversary
        )
    )
    for _, log in states:
        assert log.telemetry is not None
        assert len(log.telemetry.malicious) == 2
    ledger = states[-1][0].ledger
    assert ledger.terms.staged == ExactAttackers(each=2, attackers=4)
    assert "staged with exactly 2 of 4 attackers in every cohort" in str(ledger.guarantee(1e-3, "rdp"))
    assert any("not the sampling that certificates are about" in note for note in staged.notes)
    reloaded, _ = ledger_file.loads(ledger_file.dumps(ledger))
    for spent in (ledger, reloaded):
        for model in (ThreatModel(), ThreatModel(attendance="every-round")):
            with pytest.raises(InvalidValue, match="attackers who are sampled like everybody else, got"):
                certifiable(spent, model)
    with pytest.raises(InvalidValue, match="attackers who are sampled like everybody else, got"):
        certifiable_algorithm(staged.algorithm)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: StagedCohort(sampler=EveryoneSampler(), attackers=(0, 1), each=1),
            "attackers in every cohort need fixed-size or Poisson sampling, got everyone in every round",
        ),
        (
            lambda: StagedCohort(sampler=SAMPLERS[0], attackers=(0, 1), each=3),
            "at most the number of attackers, 2, got 3",
        ),
        (
            lambda: StagedCohort(sampler=SAMPLERS[0], attackers=tuple(range(6)), each=6).check(12),
            "attackers in every cohort must be at most the size of a cohort, 5, got 6",
        ),
        (
            lambda: StagedCohort(sampler=SAMPLERS[1], attackers=tuple(range(7)), each=7).check(12),
            "attackers in every cohort must be at most the size of a cohort, 6, got 7",
        ),
        (
            lambda: StagedCohort(sampler=SAMPLERS[0], attackers=tuple(range(9)), each=1).check(12),
            "a cohort of 5 with 1 attackers needs 4 honest users, got 3",
        ),
        (
            lambda: StagedCohort(sampler=SAMPLERS[0], attackers=(3, 12), each=1).check(12),
            "attackers must be users from 0 to 11, got 12",
        ),
        (lambda: StagedCohort(sampler=SAMPLERS[0], attackers=(3,), each=1).check(4), "at most .* 4, got 5"),
        (lambda: StagedCohort(sampler=SAMPLERS[0], attackers=(3,), each=-1), "at least 0, got -1"),
    ],
)
def test_cohorts_that_cannot_be_drawn_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_without_attackers_the_cohorts_are_those_of_the_server(sampler: Any) -> None:
    staged = StagedCohort(sampler=sampler, attackers=(), each=0)
    for seed in range(10):
        drawn = staged.draw(12, np.random.default_rng(seed))
        assert np.array_equal(drawn, sampler.draw(12, np.random.default_rng(seed)))


def _attacked_in(rounds: tuple[int, ...]) -> Attack:
    who = PerCohort(count=4, each=2, attacked_rounds_only=True)
    return Attack(who=who, model=(Scale(factor=2.0),), rounds=rounds)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_only_the_attacked_rounds_are_staged_where_that_is_asked_for(sampler: Any) -> None:
    federation, declared = tiny_federation(), tiny_algorithm(sampler=sampler)
    staged = _attacked_in((1,)).stage(declared, federation, 1)
    states = list(
        fedward.rounds(
            staged.algorithm, tiny_model(), federation, rounds=3, seed=1, adversary=staged.adversary
        )
    )
    alone = list(fedward.rounds(declared, tiny_model(), federation, rounds=1, seed=1))
    cohorts = [log.telemetry.cohort for _, log in states if log.telemetry is not None]
    assert len(set(cohorts[1]) & staged.adversary.users) == 2
    assert alone[0][1].telemetry is not None
    assert cohorts[0] == alone[0][1].telemetry.cohort
    drawn_by = [staged.algorithm.sampler_of(t) for t in (0, 1, 2)]
    assert drawn_by == [
        sampler,
        StagedCohort(sampler=sampler, attackers=attackers_of(staged), each=2),
        sampler,
    ]


def attackers_of(staged: Any) -> tuple[int, ...]:
    return tuple(sorted(staged.adversary.users))


def test_each_round_is_charged_for_its_own_sampling() -> None:
    """3 of 8 honest users in the attacked round, 5 of 12 in the others: the larger part costs more."""
    declared = tiny_algorithm(sampler=FixedSizeSampler(size=5))
    staged = _attacked_in((1,)).stage(declared, tiny_federation(), 1).algorithm
    honest = tiny_algorithm(sampler=FixedSizeSampler(size=3))
    assert staged.round_event(12, 0) == declared.round_event(12, 0)
    assert staged.round_event(12, 1) == honest.round_event(8, 0)
    assert staged.round_event(12, 2) == declared.round_event(12, 2)
    ledger = staged.planned_ledger(12, 3)
    assert "2 of 4 attackers in every cohort of the attacked rounds" in str(ledger.guarantee(1e-3, "rdp"))
    reloaded, _ = ledger_file.loads(ledger_file.dumps(ledger))
    assert reloaded.terms.staged == ExactAttackers(each=2, attackers=4, attacked_rounds_only=True)
    with pytest.raises(InvalidValue, match="attackers who are sampled like everybody else"):
        certifiable(reloaded, ThreatModel())


def test_staging_the_attacked_rounds_needs_rounds() -> None:
    who = PerCohort(count=4, each=2, attacked_rounds_only=True)
    with pytest.raises(InvalidValue, match="need the rounds of the attack, got none"):
        Attack(who=who, model=(Scale(factor=2.0),))
