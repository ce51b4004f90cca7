from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from dp_accounting import (
    GaussianDpEvent,
    NonPrivateDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
)
from torch import nn

import fedward
from fedward.clipping import (
    ClipNormDecay,
    FixedBound,
    HistogramMedian,
    NoClipping,
    PolynomialDecay,
    Quantile,
    RawMedian,
)
from fedward.core.algorithm import Algorithm
from fedward.core.round import plan_round
from fedward.core.validate import InvalidValue
from fedward.local import DPSGD, NoisyGradient
from fedward.noise import GaussianNoise
from fedward.presets import dopamine, insdp_fedavg, insdp_fedsgd, ldp_fedsgd, local_dp
from fedward.presets.local_privacy import papers_claim
from fedward.privacy import epsilon_of
from fedward.privacy.user_ledgers import UserLedgers
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from privacy.printed_epsilons import _INSTANCE_LEVEL
from support import tiny_federation, tiny_model, tiny_sgd

FEDERATION = tiny_federation()
QUANTILE = Quantile(initial=0.05, quantile=0.5, bit_noise=2.0, expected_cohort=12)
HISTOGRAM = HistogramMedian(
    initial=0.05, least=0.001, most=10.0, bins=10, look_noise=2.0, every=2, most_looks=3
)
INSTANCE_LEVEL = [
    (rate, steps, delta, noise, rounds, epsilon)
    for where, rate, steps, delta, figures in _INSTANCE_LEVEL
    if "figure 12" not in where
    for noise, rounds, epsilon in figures
]


def dp_sgd(**changes: Any) -> DPSGD:
    fields: dict[str, Any] = {
        "learning_rate": 0.1,
        "probability": 0.4,
        "expected_batch": 2.0,
        "steps": 2,
        "noise_multiplier": 1.0,
        "clip_bound": 0.5,
    }
    return DPSGD(**(fields | changes))


def users_of(algorithm: Algorithm, rounds: int = 3, seed: int = 1) -> UserLedgers:
    state, _ = list(fedward.train(algorithm, tiny_model(), FEDERATION, rounds=rounds, seed=seed))[-1]
    assert state.users is not None
    return state.users


@pytest.mark.parametrize(("rate", "steps", "delta", "noise", "rounds", "epsilon"), INSTANCE_LEVEL)
def test_insdp_fedavg_gives_every_printed_epsilon(
    rate: float, steps: int, delta: float, noise: float, rounds: int, epsilon: str
) -> None:
    """Paper 002, instance level: everybody in every round."""
    algorithm = insdp_fedavg(
        num_users=10,
        sampler=EveryoneSampler(),
        local=dp_sgd(probability=rate, steps=steps, noise_multiplier=noise, expected_batch=50.0),
    )
    found = algorithm.guarantee(10, rounds, delta, "moments")
    assert f"{found.epsilon:.{len(epsilon.split('.')[1])}f}" == epsilon
    assert (found.unit, found.adjacency, found.rounds) == ("example", "add/remove", rounds)


def test_a_real_training_has_the_printed_epsilon_in_every_users_ledger() -> None:
    """Paper 002, table 4: p = 50/1266, 26 steps, 3 rounds, σ = 1."""
    local = dp_sgd(probability=50 / 1266, steps=26, expected_batch=50.0)
    users = users_of(insdp_fedavg(num_users=12, sampler=EveryoneSampler(), local=local))
    found = users.guarantees(1e-5, "moments")
    assert f"{found.worst.epsilon:.4f}" == "3.5691"
    assert found.median == found.worst.epsilon
    assert users.histories == ((3,),)


def test_the_guarantee_of_the_models_is_the_largest_of_all_users_and_the_undrawn_spend_nothing() -> None:
    local = dp_sgd()
    algorithm = insdp_fedavg(num_users=12, sampler=PoissonSampler(rate=0.3), local=local)
    logs = list(fedward.train(algorithm, tiny_model(), FEDERATION, rounds=4, seed=3))
    users = logs[-1][0].users
    assert users is not None
    drawn = [user for _, log in logs if log.telemetry is not None for user in log.telemetry.cohort]
    times = [drawn.count(user) for user in range(12)]
    assert min(times) == 0
    assert max(times) >= 2
    for user, rounds in enumerate(times):
        own = users.guarantee(user, 1e-5, "rdp")
        assert own.rounds == rounds
        assert own.epsilon == (algorithm.guarantee(12, rounds, 1e-5, "rdp").epsilon if rounds else 0)
    assert users.guarantees(1e-5, "rdp").worst == users.guarantee(times.index(max(times)), 1e-5, "rdp")
    # The server looked at nothing and added nothing: its ledger has nothing to say.
    assert {event for event, _ in logs[-1][0].ledger.spending} == {NoOpDpEvent()}


FIGURE_12: dict[str, Any] = {
    "num_users": 30,
    "sampler": FixedSizeSampler(size=20),
    "local": dp_sgd(steps=1, noise_multiplier=3.0, clip_bound=1.5),
}


def test_insdp_fedsgd_states_the_conservative_bound_and_the_papers_claim() -> None:
    algorithm = insdp_fedsgd(**FIGURE_12)
    assert algorithm.round_event(30, 7) == PoissonSampledDpEvent(0.4, GaussianDpEvent(3.0 * 20**0.5))
    found = algorithm.guarantee(30, 200, 1e-5, "moments")
    assert f"{found.epsilon:.4f}" == "2.1303"
    assert "noise of the whole cohort, fixed-size sampling m = 20" in found.sampling
    claim = papers_claim(algorithm, 30, 200, 1e-5)
    assert claim is not None
    assert f"{claim.epsilon:.4f}" == "1.4029"
    assert "probability p q, q = 0.666667" in claim.sampling
    assert (claim.rounds, claim.accountant, claim.unit) == (200, "moments", "example")
    assert papers_claim(algorithm, 30, 0, 1e-5) is None


def test_dopamine_has_the_conservative_bound_and_no_other() -> None:
    algorithm = dopamine(**FIGURE_12)
    assert f"{algorithm.guarantee(30, 200, 1e-5, 'moments').epsilon:.4f}" == "2.1303"
    assert papers_claim(algorithm, 30, 200, 1e-5) is None
    # The event is a Poisson-sampled Gaussian for examples: no accountant has to refuse it.
    assert (
        algorithm.guarantee(30, 200, 1e-5, "pld").epsilon < algorithm.guarantee(30, 200, 1e-5, "rdp").epsilon
    )


@pytest.mark.parametrize("preset", [insdp_fedsgd, dopamine])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"local": dp_sgd(steps=2)}, "one local step a round"),
        ({"sampler": PoissonSampler(rate=0.5)}, "cohorts of a known size .* got Poisson sampling q = 0.5"),
        ({"local": dp_sgd(steps=1, clip_bound=None)}, "give either a clip bound or a clip policy"),
    ],
)
def test_noise_of_a_cohort_is_refused_where_it_does_not_add_up(
    preset: Any, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        preset(**(FIGURE_12 | changes))


@pytest.mark.parametrize("policy", [QUANTILE, HISTOGRAM], ids=repr)
def test_noise_of_a_cohort_is_refused_with_looks(policy: Any) -> None:
    """No preset lets a policy in: whoever composes by hand is refused as well."""
    with pytest.raises(InvalidValue, match="a clip bound without looks"):
        replace(insdp_fedsgd(**FIGURE_12), policy=policy)


@pytest.mark.parametrize("policy", [RawMedian(), NoClipping()], ids=repr)
@pytest.mark.parametrize("accounting", ["users", "aggregate"])
def test_a_policy_without_a_proof_is_refused_whoever_protects(policy: Any, accounting: Any) -> None:
    with pytest.raises(InvalidValue, match="need a clip policy with a proof"):
        replace(insdp_fedsgd(**FIGURE_12), accounting=accounting, policy=policy)


@pytest.mark.parametrize("policy", [None, PolynomialDecay(initial=0.5, power=1.0, rounds=4)], ids=repr)
def test_local_dp_weighs_by_declared_sizes_and_says_that_they_are_public(policy: Any) -> None:
    local = dp_sgd(clip_bound=None if policy else 0.5)
    algorithm = local_dp(sampler=EveryoneSampler(), local=local, policy=policy)
    sizes = [2, 5, 13]
    x, y = torch.randn(20, 3), torch.arange(20) % 2
    users = torch.repeat_interleave(torch.arange(3), torch.tensor(sizes))
    federation = fedward.Federation.from_arrays(x, y, users)
    model = tiny_model()
    (state, _), *_ = fedward.train(algorithm, model, federation, rounds=1, seed=1)
    start = algorithm.init(torch.nn.utils.parameters_to_vector(model.parameters()).detach(), num_users=3)
    plan = plan_round(algorithm, start, federation, None, 1)
    rows = [row.update for row in fedward.InProcess(model, federation).train(plan.jobs)]
    mean = sum(row.double() * size for row, size in zip(rows, sizes, strict=True)) / sum(sizes)
    assert torch.allclose(state.parameters - start.parameters, mean.float(), atol=1e-6)
    assert state.users is not None
    for statement in (state.users.guarantee(0, 1e-5, "rdp"), algorithm.guarantee(3, 1, 1e-5, "rdp")):
        assert "data sizes public" in str(statement)
    assert "public" not in str(
        insdp_fedavg(num_users=3, sampler=EveryoneSampler(), local=dp_sgd()).guarantee(3, 1, 1e-5, "rdp")
    )


def ldp(**changes: Any) -> Algorithm:
    fields: dict[str, Any] = {
        "num_users": 12,
        "sampler": PoissonSampler(rate=0.5),
        "noise_multiplier": 3.0,
        "clip_bound": 0.1,
    }
    return ldp_fedsgd(**(fields | changes))


def test_ldp_fedsgd_is_local_at_half_the_noise_for_the_rounds_of_each_user() -> None:
    algorithm = ldp()
    assert algorithm.protector.local_event(0) == GaussianDpEvent(1.5)
    users = users_of(algorithm, rounds=5)
    assert len(users.histories) > 2
    for user in range(12):
        found = users.guarantee(user, 1e-5, "moments")
        assert (found.unit, found.adjacency) == ("user", "local")
        # No amplification by the drawing of users: that a user takes part is public.
        wanted = [(GaussianDpEvent(1.5), found.rounds)] if found.rounds else []
        assert found.epsilon == epsilon_of(wanted, 1e-5, "moments", "local")


def test_the_noise_of_a_user_is_z_times_the_bound_of_the_round() -> None:
    """With many parameters next to all of the mean is noise, of z C over the root of m."""
    federation = tiny_federation(num_users=4, features=2000)
    model = nn.Sequential(nn.Linear(2000, 2))
    policy = PolynomialDecay(initial=0.5, power=1.0, rounds=2)
    algorithm = ldp(
        num_users=4, sampler=EveryoneSampler(), clip_bound=None, policy=policy, noise_multiplier=8.0
    )
    before = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    for state, log in fedward.train(algorithm, model, federation, rounds=2, seed=1):
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
    rounds = fedward.train(algorithm, tiny_model(), FEDERATION, rounds=5, seed=1, state=state)
    bounds = []
    for t, (after, log) in enumerate(rounds):
        plan = plan_round(algorithm, state, FEDERATION, None, 1)
        (bound,) = policy.bound(state.policy, t, None)
        assert {job.trainer.clip_bound for job in plan.jobs} == {bound}  # type: ignore[attr-defined]
        assert log.bounds == (bound,)
        bounds.append(bound)
        state = after
    assert bounds[0] == 0.05
    assert (len(set(bounds)) == 1) == isinstance(policy, FixedBound)
    assert state.users is not None
    assert state.users.histories == ((5,),)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_polynomial_schedule_of_paper_003_reaches_the_users(power: float) -> None:
    policy = PolynomialDecay(initial=0.05, power=power, rounds=5)
    algorithm = ldp(clip_bound=None, policy=policy)
    logs = [log for _, log in fedward.train(algorithm, tiny_model(), FEDERATION, rounds=5, seed=1)]
    assert [log.bounds[0] for log in logs] == pytest.approx([0.05 * (1 - t / 5) ** power for t in range(5)])
    # A public schedule costs nothing.
    assert algorithm.planned_ledger(12, 5).guarantee(1e-5, "rdp").epsilon == 0


def test_looks_are_charged_to_the_server_by_their_own_sampling() -> None:
    quantile = ldp(clip_bound=None, policy=QUANTILE)
    assert quantile.round_event(12, 3) == PoissonSampledDpEvent(0.5, GaussianDpEvent(4.0))
    histogram = ldp(clip_bound=None, policy=HISTOGRAM)
    looked = PoissonSampledDpEvent(0.5, GaussianDpEvent(2.0))
    assert [histogram.round_event(12, t) for t in range(7)] == [
        looked if t in (0, 2, 4) else NoOpDpEvent() for t in range(7)
    ]
    assert "looks at norms only" in quantile.new_ledger().sampling


def test_one_user_replaced_moves_a_look_twice_as_far() -> None:
    fixed = ldp(clip_bound=None, policy=QUANTILE, sampler=FixedSizeSampler(size=4))
    assert fixed.round_event(12, 0) == SampledWithoutReplacementDpEvent(12, 4, GaussianDpEvent(2.0))
    everyone = ldp(clip_bound=None, policy=QUANTILE, sampler=EveryoneSampler(adjacency="replace-one"))
    assert everyone.round_event(12, 0) == GaussianDpEvent(2.0)
    assert ldp(clip_bound=None, policy=QUANTILE, sampler=EveryoneSampler()).round_event(
        12, 0
    ) == GaussianDpEvent(4.0)


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
        plan = plan_round(algorithm, replace(start, round=t), FEDERATION, None, 1)
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


def test_all_presets_leave_rows_unclipped_and_unnoised_at_the_server() -> None:
    for algorithm in (ldp(), insdp_fedsgd(**FIGURE_12), local_dp(sampler=EveryoneSampler(), local=dp_sgd())):
        assert not algorithm.server_clips
        assert algorithm.noise.multiplier == 0
        assert algorithm.unproven == ""
        assert algorithm.noise_source == "seeded"
    system = ldp(noise_source="system")
    assert isinstance(system.local, NoisyGradient)
    assert (system.noise_source, system.noise.source) == ("system", "seeded")
    assert system.new_user_ledgers(3).noise_source == system.new_ledger().noise_source == "system"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"local": tiny_sgd()}, "need a private trainer"),
        ({"noise": GaussianNoise(multiplier=1.0)}, "got both, use one of them"),
        ({"void": "why"}, "cannot be void"),
        ({"public": "two\nlines"}, "public must be one line"),
        ({"accounting": "nobody"}, "accounting must be one of server, users, aggregate"),
    ],
)
def test_a_composition_that_would_break_its_guarantee_is_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        replace(ldp(), **changes)


def test_a_void_training_of_a_cohort_has_no_guarantee_and_no_claim() -> None:
    algorithm = replace(insdp_fedsgd(**FIGURE_12), void="attackers keep their noise")
    assert algorithm.round_event(30, 0) == NonPrivateDpEvent()
    found = algorithm.guarantee(30, 5, 1e-5, "moments")
    assert str(found) == "no guarantee: attackers keep their noise"
    assert papers_claim(algorithm, 30, 5, 1e-5) is None


def test_a_step_of_dp_sgd_is_written_as_so_many_sampled_gaussians() -> None:
    event = insdp_fedavg(
        num_users=12, sampler=EveryoneSampler(), local=dp_sgd(steps=7)
    ).protector.local_event(0)
    assert event == SelfComposedDpEvent(PoissonSampledDpEvent(0.4, GaussianDpEvent(1.0)), 7)
