from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from dp_accounting import GaussianDpEvent, NoOpDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent

import fedward
from fedward.base.validate import InvalidValue
from fedward.clipping import PolynomialDecay
from fedward.core.round import plan_round
from fedward.local import NoisyGradient
from fedward.mechanisms import GaussianNoise
from fedward.presets import insdp_fedavg, insdp_fedsgd, local_dp
from fedward.privacy import epsilon_of
from fedward.sampling import EveryoneSampler, PoissonSampler
from presets.self_protecting import FEDERATION, FIGURE_12, dp_sgd, ldp, users_of
from privacy.printed_epsilons import _INSTANCE_LEVEL
from support import tiny_model, tiny_sgd

INSTANCE_LEVEL = [
    (rate, steps, delta, noise, rounds, epsilon)
    for where, rate, steps, delta, figures in _INSTANCE_LEVEL
    if "figure 12" not in where
    for noise, rounds, epsilon in figures
]


@pytest.mark.parametrize(("rate", "steps", "delta", "noise", "rounds", "epsilon"), INSTANCE_LEVEL)
def test_insdp_fedavg_gives_every_printed_epsilon(
    rate: float, steps: int, delta: float, noise: float, rounds: int, epsilon: str
) -> None:
    """Xie et al., instance level: everybody in every round."""
    algorithm = insdp_fedavg(
        num_users=10,
        sampler=EveryoneSampler(),
        local=dp_sgd(probability=rate, steps=steps, noise_multiplier=noise, expected_batch=50.0),
    )
    found = algorithm.guarantee(10, rounds, delta, "moments")
    assert f"{found.epsilon:.{len(epsilon.split('.')[1])}f}" == epsilon
    assert (found.unit, found.adjacency, found.rounds) == ("example", "add/remove", rounds)


def test_a_real_training_has_the_printed_epsilon_in_every_users_ledger() -> None:
    """Xie et al., table 4: p = 50/1266, 26 steps, 3 rounds, σ = 1."""
    local = dp_sgd(probability=50 / 1266, steps=26, expected_batch=50.0)
    users = users_of(insdp_fedavg(num_users=12, sampler=EveryoneSampler(), local=local))
    found = users.guarantees(1e-5, "moments")
    assert f"{found.worst.epsilon:.4f}" == "3.5691"
    assert found.median == found.worst.epsilon
    assert users.histories == ((3,),)


def test_the_guarantee_of_the_models_is_the_largest_of_all_users_and_the_undrawn_spend_nothing() -> None:
    local = dp_sgd()
    algorithm = insdp_fedavg(num_users=12, sampler=PoissonSampler(rate=0.3), local=local)
    logs = list(fedward.rounds(algorithm, tiny_model(), FEDERATION, rounds=4, seed=3))
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


@pytest.mark.parametrize("policy", [None, PolynomialDecay(initial=0.5, power=1.0, rounds=4)], ids=repr)
def test_local_dp_weighs_by_declared_sizes_and_says_that_they_are_public(policy: Any) -> None:
    local = dp_sgd(clip_bound=None if policy else 0.5)
    algorithm = local_dp(sampler=EveryoneSampler(), local=local, policy=policy)
    sizes = [2, 5, 13]
    x, y = torch.randn(20, 3), torch.arange(20) % 2
    users = torch.repeat_interleave(torch.arange(3), torch.tensor(sizes))
    federation = fedward.Federation.from_arrays(x, y, users)
    model = tiny_model()
    (state, _), *_ = fedward.rounds(algorithm, model, federation, rounds=1, seed=1)
    start = algorithm.init(torch.nn.utils.parameters_to_vector(model.parameters()).detach(), num_users=3)
    plan = plan_round(algorithm, start, federation.roster, None, 1)
    rows = [row.update for row in fedward.InProcess(model, federation).train(plan.jobs)]
    mean = sum(row.double() * size for row, size in zip(rows, sizes, strict=True)) / sum(sizes)
    assert torch.allclose(state.parameters - start.parameters, mean.float(), atol=1e-6)
    assert state.users is not None
    for statement in (state.users.guarantee(0, 1e-5, "rdp"), algorithm.guarantee(3, 1, 1e-5, "rdp")):
        assert "data sizes public" in str(statement)
    assert "public" not in str(
        insdp_fedavg(num_users=3, sampler=EveryoneSampler(), local=dp_sgd()).guarantee(3, 1, 1e-5, "rdp")
    )


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


def test_all_presets_leave_rows_unclipped_and_unnoised_at_the_server() -> None:
    for algorithm in (ldp(), insdp_fedsgd(**FIGURE_12), local_dp(sampler=EveryoneSampler(), local=dp_sgd())):
        assert not algorithm.server_clips
        assert algorithm.mechanism.multiplier == 0
        assert algorithm.unproven == ""
        assert algorithm.noise_source == "seeded"
    system = ldp(noise_source="system")
    assert isinstance(system.local, NoisyGradient)
    assert (system.noise_source, system.mechanism.source) == ("system", "seeded")
    assert system.new_user_ledgers(3).noise_source == system.new_ledger().noise_source == "system"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"local": tiny_sgd()}, "need a private trainer"),
        ({"mechanism": GaussianNoise(multiplier=1.0)}, "got both, use one of them"),
        ({"void": "why"}, "cannot be void"),
        ({"accounting": "nobody"}, "accounting must be one of server, users, aggregate"),
    ],
)
def test_a_composition_that_would_break_its_guarantee_is_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        replace(ldp(), **changes)


def test_a_step_of_dp_sgd_is_written_as_so_many_sampled_gaussians() -> None:
    event = insdp_fedavg(
        num_users=12, sampler=EveryoneSampler(), local=dp_sgd(steps=7)
    ).protector.local_event(0)
    assert event == SelfComposedDpEvent(PoissonSampledDpEvent(0.4, GaussianDpEvent(1.0)), 7)
