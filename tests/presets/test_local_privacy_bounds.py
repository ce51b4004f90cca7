"""Clip bounds that reach users who protect themselves, and what looks at norms cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from dp_accounting import (
    GaussianDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)
from torch import nn

import fedward
from fedward.attacks.staged_cohort import StagedCohort
from fedward.base.validate import InvalidType, InvalidValue
from fedward.clipping import ClipNormDecay, FixedBound, PolynomialDecay
from fedward.core.algorithm import Algorithm
from fedward.core.round import plan_round
from fedward.presets import insdp_fedavg, local_dp, user_dp_fedavg
from fedward.sampling import EveryoneSampler, FixedSizeSampler
from presets.self_protecting import FEDERATION, HISTOGRAM, QUANTILE, dp_sgd, ldp
from support import tiny_federation, tiny_model, tiny_sgd


def test_the_noise_of_a_user_is_z_times_the_bound_of_the_round() -> None:
    """With many parameters next to all of the mean is noise, of z C over the root of m."""
    federation = tiny_federation(num_users=4, features=2000)
    model = nn.Sequential(nn.Linear(2000, 2))
    policy = PolynomialDecay(initial=0.5, power=1.0, rounds=2)
    algorithm = ldp(
        num_users=4, sampler=EveryoneSampler(), clip_bound=None, policy=policy, noise_multiplier=8.0
    )
    before = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    for state, log in fedward.rounds(algorithm, model, federation, rounds=2, seed=1):
        moved = state.parameters - before
        wanted = 8.0 * log.bounds[0] / 4**0.5
        # 4002 draws: the deviation is known to a percent; the mean gradient adds at most C to the norm.
        assert float(moved.std()) == pytest.approx(wanted, rel=0.05)
        before = state.parameters


POLICIES: dict[str, Any] = {
    "fixed": FixedBound(clip_bound=0.05),
    "square root": PolynomialDecay(initial=0.05, power=0.5, rounds=5),
    "line": PolynomialDecay(initial=0.05, power=1.0, rounds=5),
    "square": PolynomialDecay(initial=0.05, power=2.0, rounds=5),
    "quantile": QUANTILE,
    "histogram median": HISTOGRAM,
    "norm decay": ClipNormDecay(initial=0.05, decay=0.9, look_noise=3.5, expected_cohort=12),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_schedule_gives_its_bound_to_every_user_in_every_round(policy: Any) -> None:
    algorithm = ldp(sampler=EveryoneSampler(), clip_bound=None, policy=policy)
    state = algorithm.init(
        torch.nn.utils.parameters_to_vector(tiny_model().parameters()).detach(), num_users=12
    )
    rounds = fedward.rounds(algorithm, tiny_model(), FEDERATION, rounds=5, seed=1, state=state)
    bounds = []
    for t, (after, log) in enumerate(rounds):
        plan = plan_round(algorithm, state, FEDERATION.roster, None, 1)
        (bound,) = policy.bound(state.policy, t, None)
        assert {job.trainer.clip_bound for job in plan.jobs} == {bound}  # type: ignore[attr-defined]
        assert log.bounds == (bound,)
        bounds.append(bound)
        state = after
    assert bounds[0] == 0.05
    assert (len(set(bounds)) == 1) == isinstance(policy, FixedBound)
    assert state.users is not None
    (history,) = state.users.histories
    assert sum(history) == 5


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_a_polynomial_schedule_reaches_the_users(power: float) -> None:
    policy = PolynomialDecay(initial=0.05, power=power, rounds=5)
    algorithm = ldp(clip_bound=None, policy=policy)
    logs = [log for _, log in fedward.rounds(algorithm, tiny_model(), FEDERATION, rounds=5, seed=1)]
    assert [log.bounds[0] for log in logs] == pytest.approx([0.05 * (1 - t / 5) ** power for t in range(5)])
    # A public schedule costs nothing.
    assert algorithm.planned_ledger(12, 5).guarantee(1e-5, "rdp").epsilon == 0


def test_looks_alone_are_in_the_servers_ledger_by_their_own_sampling() -> None:
    quantile = ldp(clip_bound=None, policy=QUANTILE)
    assert quantile.round_event(12, 3) == PoissonSampledDpEvent(0.5, GaussianDpEvent(4.0))
    histogram = ldp(clip_bound=None, policy=HISTOGRAM)
    looked = PoissonSampledDpEvent(0.5, GaussianDpEvent(2.0))
    assert [histogram.round_event(12, t) for t in range(7)] == [
        looked if t in (0, 2, 4) else NoOpDpEvent() for t in range(7)
    ]
    assert "looks at norms only" in quantile.new_ledger().sampling


def test_a_look_is_charged_for_the_sampling_of_its_own_round() -> None:
    """4 of 12 where nobody attacks; 2 of the 8 honest users beside 2 attackers."""
    staged = StagedCohort(sampler=FixedSizeSampler(size=4), attackers=(0, 1, 2, 3), each=2, rounds=(1,))
    algorithm = ldp(clip_bound=None, policy=QUANTILE, sampler=staged)
    assert [algorithm.round_event(12, t) for t in (0, 1)] == [
        SampledWithoutReplacementDpEvent(12, 4, GaussianDpEvent(2.0)),
        SampledWithoutReplacementDpEvent(8, 2, GaussianDpEvent(2.0)),
    ]


def test_one_user_replaced_moves_a_look_as_far_as_the_policy_has_proven() -> None:
    fixed = ldp(clip_bound=None, policy=QUANTILE, sampler=FixedSizeSampler(size=4))
    assert fixed.round_event(12, 0) == SampledWithoutReplacementDpEvent(12, 4, GaussianDpEvent(2.0))
    everyone = ldp(clip_bound=None, policy=QUANTILE, sampler=EveryoneSampler(adjacency="replace-one"))
    assert everyone.round_event(12, 0) == GaussianDpEvent(2.0)
    assert ldp(clip_bound=None, policy=QUANTILE, sampler=EveryoneSampler()).round_event(
        12, 0
    ) == GaussianDpEvent(4.0)
    # Of a histogram √2 times as far, of norms between 0 and the bound no further.
    histogram = ldp(clip_bound=None, policy=HISTOGRAM, sampler=EveryoneSampler(adjacency="replace-one"))
    assert histogram.round_event(12, 0).noise_multiplier == pytest.approx(2.0 / 2**0.5, rel=1e-12)
    assert histogram.user_event(0).events[1].noise_multiplier == pytest.approx(2.0 / 2**0.5, rel=1e-12)
    decay = POLICIES["norm decay"]
    (noise,) = decay.looks(0)
    sampler = EveryoneSampler(adjacency="replace-one")
    central = user_dp_fedavg(
        num_users=12, sampler=sampler, local=tiny_sgd(), policy=decay, noise_multiplier=3.0
    )
    assert [event.noise_multiplier for event in central.round_event(12, 0).events] == [1.5, noise]


def test_a_policy_that_looks_and_does_not_say_how_far_a_user_replaced_moves_it_is_refused() -> None:
    class Silent:
        """As a policy of somebody's own, written for users who come and go."""

        reads_norms, per_group, unproven = False, False, ""

        def looks(self, round: int) -> tuple[float, ...]:
            return (2.0,)

        def init(self) -> tuple[float, ...]:
            return (1.0,)

        def bound(self, policy: Any, round: int, norms: Any) -> tuple[float, ...]:
            return (1.0,)

        def move(self, policy: Any, round: int, bounds: Any, norms: Any, rng: Any) -> Any:
            return policy

    def algorithm(sampler: Any, policy: Any) -> Algorithm:
        arguments: dict[str, Any] = {"num_users": 12, "local": tiny_sgd(), "noise_multiplier": 3.0}
        return user_dp_fedavg(sampler=sampler, policy=policy, **arguments)

    assert algorithm(EveryoneSampler(), Silent()).round_event(12, 0)
    with pytest.raises(InvalidType, match="replaced_moves must be declared by"):
        algorithm(FixedSizeSampler(size=4), Silent()).round_event(12, 0)
    Silent.replaced_moves = 2.5  # type: ignore[attr-defined]
    with pytest.raises(InvalidValue, match=r"replaced_moves must be at most 2, which always holds, got 2\.5"):
        algorithm(FixedSizeSampler(size=4), Silent()).round_event(12, 0)


@pytest.mark.parametrize("policy", [QUANTILE, HISTOGRAM, POLICIES["norm decay"]], ids=repr)
@pytest.mark.parametrize("preset", [insdp_fedavg, local_dp])
def test_looks_at_the_norms_of_noisy_updates_are_refused_for_dp_sgd(preset: Any, policy: Any) -> None:
    arguments: dict[str, Any] = {
        "sampler": EveryoneSampler(),
        "local": dp_sgd(clip_bound=None),
        "policy": policy,
    }
    if preset is insdp_fedavg:
        arguments["num_users"] = 12
    with pytest.raises(InvalidValue, match="DP-SGD clips examples"):
        preset(**arguments)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_dp_sgd_takes_a_public_schedule(power: float) -> None:
    policy = PolynomialDecay(initial=0.5, power=power, rounds=3)
    local = dp_sgd(clip_bound=None)
    algorithm = insdp_fedavg(num_users=12, sampler=EveryoneSampler(), local=local, policy=policy)
    start = algorithm.init(torch.zeros(26), num_users=12)
    for t in range(3):
        plan = plan_round(algorithm, replace(start, round=t), FEDERATION.roster, None, 1)
        bounds = {job.trainer.clip_bound for job in plan.jobs}  # type: ignore[attr-defined]
        assert bounds == {policy.bound((), t, None)[0]}


@pytest.mark.parametrize(
    "make",
    [
        lambda: ldp(clip_bound=None),
        lambda: ldp(policy=QUANTILE),
        lambda: insdp_fedavg(num_users=12, sampler=EveryoneSampler(), local=dp_sgd(clip_bound=None)),
        lambda: insdp_fedavg(
            num_users=12, sampler=EveryoneSampler(), local=dp_sgd(), policy=FixedBound(clip_bound=1.0)
        ),
    ],
)
def test_a_clip_bound_comes_from_one_place(make: Any) -> None:
    with pytest.raises(InvalidValue, match="give either a clip bound or a clip policy"):
        make()
