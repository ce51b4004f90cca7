"""Looks at norms are paid for by whom they are about, whoever protects and whenever the first of them is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from dp_accounting import ComposedDpEvent, GaussianDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st

import fedward
from core.self_protected import FEDERATION, FEDSGD, MODEL, START, dp_sgd, end, insdp, ldp
from fedward.base.validate import InvalidValue
from fedward.clipping import FixedBound, HistogramMedian, Quantile
from fedward.core.algorithm import Algorithm
from fedward.core.check import check_setup
from fedward.core.round import plan_round
from fedward.core.train import reserve
from fedward.core.types import Bounds, PolicyState
from fedward.presets import dopamine, insdp_fedsgd, local_dp
from fedward.privacy import Budget, Guarantee, epsilon_of
from fedward.privacy.events import fold
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from support import tiny_algorithm

INCLUDED = "the server's looks at norms included"


def looking(z: float, bit_noise: float, q: float = 0.5) -> Algorithm:
    policy = Quantile(initial=1.0, quantile=0.5, bit_noise=bit_noise, expected_cohort=6)
    return ldp(sampler=PoissonSampler(rate=q), noise_multiplier=z, clip_bound=None, policy=policy)


@given(
    z=st.floats(0.5, 500.0), bit_noise=st.floats(0.05, 50.0), rounds=st.integers(1, 300), q=st.floats(0.01, 1)
)
@settings(max_examples=40, deadline=None)
def test_the_guarantee_is_never_less_than_that_of_the_looks_alone(
    z: float, bit_noise: float, rounds: int, q: float
) -> None:
    """The next bound is a function of the models, and the noisy sum of bits one of both bounds."""
    algorithm = looking(z, bit_noise, q)
    found = algorithm.guarantee(12, rounds, 1e-3, "rdp")
    alone = algorithm.planned_ledger(12, rounds).guarantee(1e-3, "rdp").epsilon
    own = epsilon_of([(GaussianDpEvent(z / 2), rounds)], 1e-3, "rdp", "local")
    # One bit that turns moves their sum by 1: a Gaussian of multiplier σ_b to whoever knows the cohort.
    bits = epsilon_of([(GaussianDpEvent(bit_noise), rounds)], 1e-3, "rdp", "local")
    assert found.epsilon >= max(alone, own, bits) - 1e-9
    both = epsilon_of([(GaussianDpEvent(fold(z / 2, bit_noise)), rounds)], 1e-3, "rdp", "local")
    assert found.epsilon == pytest.approx(both)


def test_much_noise_at_the_users_does_not_hide_what_looks_with_little_noise_show() -> None:
    algorithm = looking(200.0, 0.1)
    alone = algorithm.planned_ledger(12, 5).guarantee(1e-3, "pld")
    assert f"{alone.epsilon:.2f}" == "79.15"
    found = algorithm.guarantee(12, 5, 1e-3, "rdp")
    assert found.epsilon > alone.epsilon
    assert f"one clipped gradient with noise at the user, {INCLUDED}, 5 rounds" in str(found)


def test_without_looks_each_user_pays_for_its_own_noise_alone() -> None:
    algorithm = ldp(noise_multiplier=4.0)
    assert algorithm.user_event(3) == GaussianDpEvent(2.0)
    assert INCLUDED not in str(algorithm.guarantee(12, 5, 1e-3, "rdp"))


def test_what_users_have_spent_after_a_training_has_the_looks_in_it() -> None:
    algorithm = looking(8.0, 2.0, q=1.0)
    users = end(algorithm, rounds=3).users
    assert users is not None
    assert users.events == (ComposedDpEvent([GaussianDpEvent(4.0), GaussianDpEvent(2.0)]),)
    assert users.guarantees(1e-3, "rdp").worst == algorithm.guarantee(12, 3, 1e-3, "rdp")


def test_only_who_was_looked_at_pays_for_the_look() -> None:
    policy = HistogramMedian(
        initial=0.1, least=0.001, most=10.0, bins=4, look_noise=2.0, every=2, most_looks=1
    )
    algorithm = ldp(sampler=PoissonSampler(rate=0.4), clip_bound=None, policy=policy)
    steps = list(fedward.rounds(algorithm, MODEL, FEDERATION, rounds=2, seed=3))
    users, (first, second) = steps[-1][0].users, (log.telemetry for _, log in steps)
    assert users is not None
    assert first is not None
    assert second is not None
    for user in range(12):
        ledger = users.ledger(user)
        assert (INCLUDED in ledger.sampling) == (user in first.cohort)
        assert ledger.rounds == (user in first.cohort) + (user in second.cohort)
    # A round with a look is dearer than one without.
    dear, cheap = (algorithm.user_event(t) for t in (0, 1))
    assert epsilon_of([(dear, 1)], 1e-3, "rdp", "local") > epsilon_of([(cheap, 1)], 1e-3, "rdp", "local")


def test_a_budget_ends_training_by_own_noise_and_looks_together() -> None:
    algorithm = looking(50.0, 1.0, q=1.0)
    limit = algorithm.guarantee(12, 2, 1e-3, "rdp").epsilon
    assert ldp(noise_multiplier=50.0).guarantee(12, 20, 1e-3, "rdp").epsilon < limit
    budget = Budget(epsilon=limit, delta=1e-3, accountant="rdp")
    assert len(list(fedward.rounds(algorithm, MODEL, FEDERATION, rounds=20, seed=1, budget=budget))) == 2
    small = replace(budget, epsilon=algorithm.guarantee(12, 1, 1e-3, "rdp").epsilon * 0.99)
    with pytest.raises(InvalidValue, match="budget must be at least what one round costs"):
        fedward.rounds(algorithm, MODEL, FEDERATION, rounds=20, seed=1, budget=small)


def test_a_state_whose_users_were_not_charged_for_looks_is_refused() -> None:
    algorithm = looking(8.0, 2.0)
    after = end(algorithm, rounds=1)
    assert after.users is not None
    uncharged = replace(after.users, events=(GaussianDpEvent(4.0),))
    with pytest.raises(InvalidValue, match="an earlier version, which left them out"):
        fedward.rounds(algorithm, MODEL, FEDERATION, rounds=2, seed=1, state=replace(after, users=uncharged))
    assert len(list(fedward.rounds(algorithm, MODEL, FEDERATION, rounds=2, seed=1, state=after))) == 1


@dataclass(frozen=True, kw_only=True)
class LateLook(FixedBound):
    """Looks for the first time in round 5, and says so if it is honest."""

    honest: bool = True

    def looks(self, round: int) -> tuple[float, ...]:
        return (1.0,) if round == 5 and self.honest else ()

    def init(self) -> PolicyState:
        return ()

    def move(
        self, policy: PolicyState, round: int, bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> PolicyState:
        return (*policy, float(len(norms)))


LATE = LateLook(clip_bound=0.1)
UNACCOUNTED: dict[str, Algorithm] = {
    "insdp_fedsgd": replace(insdp_fedsgd(**FEDSGD), policy=LATE),
    "dopamine": replace(dopamine(**FEDSGD), policy=LATE),
    "insdp_fedavg": insdp(sampler=EveryoneSampler(), local=dp_sgd(clip_bound=None), policy=LATE),
    "local_dp": local_dp(sampler=EveryoneSampler(), local=dp_sgd(clip_bound=None), policy=LATE),
}


@pytest.mark.parametrize("algorithm", UNACCOUNTED.values(), ids=UNACCOUNTED)
def test_a_first_look_in_round_5_that_nobody_accounts_for_is_refused_before_any_work(
    algorithm: Algorithm,
) -> None:
    wanted = "looks in round 5"
    with pytest.raises(InvalidValue, match=wanted):
        check_setup(algorithm, MODEL, FEDERATION.roster, rounds=6)
    with pytest.raises(InvalidValue, match=wanted):
        fedward.rounds(algorithm, MODEL, FEDERATION, rounds=6, seed=1)
    with pytest.raises(InvalidValue, match=wanted):
        algorithm.guarantee(12, 6, 1e-3, "rdp")
    # Where nobody knew how many rounds there would be, the round itself does not begin.
    state = replace(algorithm.init(START, 0, 12), round=5)
    with pytest.raises(InvalidValue, match=wanted):
        reserve(algorithm, state, plan_round(algorithm, state, FEDERATION.roster, None, 1))
    assert isinstance(algorithm.guarantee(12, 5, 1e-3, "rdp"), Guarantee)
    check_setup(algorithm, MODEL, FEDERATION.roster, rounds=5)


def test_a_first_look_in_round_5_is_charged_where_looks_are() -> None:
    server = replace(tiny_algorithm(), policy=LATE)
    users = ldp(clip_bound=None, policy=LATE)
    for algorithm in (server, users):
        six, fixed = (
            replace(algorithm, policy=policy).guarantee(12, 6, 1e-3, "rdp").epsilon
            for policy in (LATE, FixedBound(clip_bound=0.1))
        )
        assert six > fixed
    assert users.user_event(5) == ComposedDpEvent([GaussianDpEvent(1.5), GaussianDpEvent(0.5)])


def test_no_policy_sees_norms_in_a_round_without_a_declared_look() -> None:
    def counts(policy: Any) -> tuple[float, ...]:
        return end(ldp(clip_bound=None, policy=policy), rounds=7).policy

    assert counts(LATE) == (0, 0, 0, 0, 0, 12, 0)
    assert counts(LateLook(clip_bound=0.1, honest=False)) == (0,) * 7


@dataclass(frozen=True, kw_only=True)
class ReadsUnsaid(FixedBound):
    reads_norms = True


def test_a_bound_made_of_the_rounds_own_norms_must_say_that_nothing_covers_it() -> None:
    with pytest.raises(InvalidValue, match=r"must say why no ε covers it \(unproven\), got ReadsUnsaid"):
        replace(tiny_algorithm(), policy=ReadsUnsaid(clip_bound=0.1))


@pytest.mark.parametrize(("sampler", "moves"), [(PoissonSampler(rate=0.5), 1), (FixedSizeSampler(size=6), 2)])
def test_a_user_that_is_replaced_moves_model_and_look_twice_as_far_as_one_that_is_added(
    sampler: Any, moves: int
) -> None:
    policy = Quantile(initial=1.0, quantile=0.5, bit_noise=1.5, expected_cohort=6)
    algorithm = replace(tiny_algorithm(sampler=sampler, noise_multiplier=2.0), policy=policy)
    both = sampler.amplify(GaussianDpEvent(fold(2.0 / moves, 3.0 / moves)), 12)
    expected = epsilon_of([(both, 4)], 1e-3, "rdp", sampler.adjacency)
    assert algorithm.guarantee(12, 4, 1e-3, "rdp").epsilon == pytest.approx(expected)
