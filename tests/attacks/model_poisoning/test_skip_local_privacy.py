from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import fedward
from fedward.attacks import Attack, NamedUsers, PerCohort, RandomUsers, Staged
from fedward.attacks.model_poisoning import (
    MODEL_POISONINGS,
    Collude,
    GaussianUpdate,
    InnerProductManipulation,
    Scale,
    SignFlip,
    SkipLocalPrivacy,
)
from fedward.attacks.poisoning import SinglePixel
from fedward.base.validate import InvalidValue
from fedward.certificates.threat import ThreatModel, certifiable
from fedward.core.algorithm import Algorithm
from fedward.core.parameters import FlatModule
from fedward.core.types import Sight
from fedward.local import DPSGD, SGD, FullGradient, NoisyGradient
from fedward.presets import dopamine, insdp_fedavg, insdp_fedsgd, ldp_fedsgd, local_dp
from fedward.presets.local_privacy import papers_claim
from fedward.privacy.sampling_words import DEVIATING
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from support import plan_simulated, tiny_algorithm, tiny_picture_model, tiny_pictures

PICTURES, MODEL = tiny_pictures(), tiny_picture_model()
START = FlatModule(MODEL).parameters.clone()
TOLD = DPSGD(
    learning_rate=0.2,
    probability=0.3,
    expected_batch=2.5,
    steps=4,
    noise_multiplier=1.5,
    clip_bound=0.1,
    momentum=0.5,
    weight_decay=0.01,
    learning_rate_decay=0.5,
)
ONE_STEP = replace(TOLD, steps=1, momentum=0.0)
SOME = NamedUsers(users=(1, 4))
EVERYONE: dict[str, Any] = {"sampler": EveryoneSampler()}
LDP = ldp_fedsgd(num_users=12, noise_multiplier=2.0, clip_bound=0.1, **EVERYONE)
INSDP = insdp_fedavg(num_users=12, local=TOLD, **EVERYONE)
LOCAL_DP = local_dp(local=TOLD, **EVERYONE)
COHORT: dict[str, Any] = {"num_users": 12, "sampler": FixedSizeSampler(size=6), "local": ONE_STEP}


def staged(algorithm: Algorithm, *parts: Any, who: Any = SOME, **changes: Any) -> Staged:
    return Attack(who=who, model=parts or (SkipLocalPrivacy(),), **changes).stage(algorithm, PICTURES, 1)


def test_it_trains_as_it_was_told_but_without_clipping_and_noise() -> None:
    part = SkipLocalPrivacy()
    assert part.trainer(TOLD.at_round(1, (0.1,)), 1, (0.1,)) == SGD(
        learning_rate=0.1, batch_size=3, steps=4, momentum=0.5, weight_decay=0.01
    )
    noisy = NoisyGradient(noise_multiplier=2.0, clip_bound=0.1, learning_rate=0.7, chunk_size=9)
    assert part.trainer(noisy, 0, (0.1,)) == FullGradient(learning_rate=0.7, chunk_size=9)
    tiny = replace(TOLD, expected_batch=0.2)
    assert part.trainer(tiny, 0, (0.1,)).batch_size == 1  # type: ignore[attr-defined]


def test_what_it_sends_is_scaled() -> None:
    sight = Sight(round=0, parameters=torch.zeros(2), bounds=(0.1,), own={})
    row = SkipLocalPrivacy(factor=5.0).tamper(torch.tensor([1.0, -2.0]), sight, np.random.default_rng(0))
    assert row.tolist() == [5.0, -10.0]


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), True])
def test_a_factor_is_a_positive_number(factor: float) -> None:
    with pytest.raises(InvalidValue, match="scale factor must be"):
        SkipLocalPrivacy(factor=factor)


def test_it_is_written_in_files_by_its_name() -> None:
    assert MODEL_POISONINGS["skip_local_privacy"] is SkipLocalPrivacy


def rows_of(algorithm: Algorithm, adversary: Any) -> dict[int, Tensor]:
    plan = plan_simulated(algorithm, algorithm.init(START, 0, 12), PICTURES, adversary, 1)
    return {row.user: row.update for row in fedward.InProcess(MODEL, PICTURES).train(plan.jobs)}


@pytest.mark.parametrize("algorithm", [INSDP, LOCAL_DP, LDP], ids=lambda algorithm: algorithm.name)
def test_its_row_has_no_noise_and_others_rows_are_as_they_were(algorithm: Algorithm) -> None:
    attack = staged(algorithm)
    rows, honest = rows_of(attack.algorithm, attack.adversary), rows_of(algorithm, None)
    for user, row in rows.items():
        assert torch.equal(row, honest[user]) == (user not in (1, 4))
    if algorithm is LDP:
        plain = FlatModule(tiny_picture_model())
        FullGradient().train(plain, PICTURES.user(1), np.random.default_rng(0))
        assert torch.allclose(rows[1], plain.parameters - START, atol=1e-7)


def ended(attack: Staged) -> Any:
    steps = fedward.rounds(
        attack.algorithm, MODEL, attack.federation, rounds=3, seed=1, adversary=attack.adversary
    )
    return list(steps)[-1][0]


@pytest.mark.parametrize("algorithm", [INSDP, LOCAL_DP, LDP], ids=lambda algorithm: algorithm.name)
def test_nobody_clips_after_it_and_what_is_guaranteed_to_others_stands(algorithm: Algorithm) -> None:
    attack = staged(algorithm, SkipLocalPrivacy(factor=1000.0))
    assert attack.algorithm.unproven == ""
    assert "skip their own clipping and noise" in attack.notes[0]
    assert "What is guaranteed to the other users stands" in attack.notes[0]
    state, calm = ended(attack), ended(staged(algorithm, who=RandomUsers(count=0)))
    assert float((state.parameters - START).norm()) > 20 * float((calm.parameters - START).norm())
    for user in range(12):
        under_attack, alone = (end.users.guarantee(user, 1e-5, "rdp") for end in (state, calm))
        assert under_attack.epsilon == alone.epsilon
        assert under_attack.sampling == f"{alone.sampling}, {DEVIATING}"


@pytest.mark.parametrize("preset", [insdp_fedsgd, dopamine])
@pytest.mark.parametrize(
    "part",
    [SkipLocalPrivacy(), Scale(factor=0.1), GaussianUpdate(std=0.1), SignFlip(), Collude()],
    ids=repr,
)
def test_where_noise_adds_up_attackers_who_send_what_they_like_take_the_guarantee_away(
    preset: Any, part: Any
) -> None:
    algorithm = preset(**COHORT)
    attack = staged(algorithm, part)
    state = ended(attack)
    found = state.ledger.guarantee(1e-5, "rdp")
    assert "no guarantee: attackers know or leave out the noise that the guarantee counts on" in str(found)
    assert papers_claim(attack.algorithm, 12, 3, 1e-5) is None
    assert algorithm.guarantee(12, 3, 1e-5, "rdp").private


@pytest.mark.parametrize("rounds", [(2,), None])
def test_one_round_without_noise_is_enough(rounds: Any) -> None:
    attack = staged(insdp_fedsgd(**COHORT), rounds=rounds)
    assert not attack.algorithm.guarantee(12, 3, 1e-5, "rdp").private


def test_attackers_know_their_own_noise_even_if_they_only_poison_data() -> None:
    algorithm = insdp_fedsgd(**COHORT)
    assert staged(algorithm, who=RandomUsers(count=0)).algorithm == algorithm
    data_only = Attack(who=SOME, data=(SinglePixel(),)).stage(algorithm, PICTURES, 1)
    assert not data_only.algorithm.guarantee(12, 3, 1e-5, "rdp").private


def test_no_certificate_is_computed_where_attackers_send_what_they_like() -> None:
    data_only = ThreatModel(behaviour="data", attendance="every-round")
    clean = ended(staged(INSDP, who=RandomUsers(count=0))).users.ledger(0)
    assert certifiable(clean, data_only)
    attacked = ended(staged(INSDP, SkipLocalPrivacy())).users.ledger(0)
    with pytest.raises(InvalidValue, match="follow the protocol"):
        certifiable(attacked, data_only)


def test_no_certificate_is_computed_where_attackers_are_staged() -> None:
    algorithm = insdp_fedavg(num_users=12, local=TOLD, sampler=PoissonSampler(rate=0.5))
    attack = Attack(who=PerCohort(count=3, each=2), data=(SinglePixel(),)).stage(algorithm, PICTURES, 1)
    ledgers = ended(attack).users
    with pytest.raises(InvalidValue, match="sampled like everybody else"):
        certifiable(ledgers.ledger(int(ledgers.history_of.argmax())), ThreatModel(behaviour="data"))


def test_training_with_another_algorithm_than_the_staged_one_is_refused() -> None:
    algorithm = insdp_fedsgd(**COHORT)
    attack = staged(algorithm, Scale(factor=0.1))
    with pytest.raises(InvalidValue, match=r"train with the algorithm of Attack.stage"):
        fedward.rounds(algorithm, MODEL, PICTURES, rounds=1, seed=1, adversary=attack.adversary)


def test_what_users_send_that_protect_themselves_may_be_seen_by_attackers() -> None:
    spy = InnerProductManipulation(factor=0.5)
    for algorithm in (LDP, INSDP):
        attack = staged(algorithm, spy, knowledge="cohort")
        assert attack.algorithm == replace(algorithm, deviating=True)
        assert attack.algorithm.guarantee(12, 3, 1e-5, "rdp").private
        assert attack.notes == ()
    assert (
        not staged(insdp_fedsgd(**COHORT), spy, knowledge="cohort")
        .algorithm.guarantee(12, 3, 1e-5, "rdp")
        .private
    )


def test_where_the_server_protects_there_is_nothing_to_skip() -> None:
    attack = staged(tiny_algorithm())
    with pytest.raises(InvalidValue, match="only users that protect themselves can skip their clipping"):
        fedward.rounds(attack.algorithm, MODEL, PICTURES, rounds=2, seed=1, adversary=attack.adversary)
