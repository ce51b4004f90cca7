"""Trainings with rules that remember: in checkpoints, side by side, and under attack."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import torch

import fedward
from attacks.staged_training import train_under
from fedward.aggregation import CentredClipping, Flame, FLDetector, FLTrust, FoolsGold, Krum, Rule
from fedward.attacks import Attack, NamedUsers, RandomUsers
from fedward.attacks.model_poisoning import OptimisedInnerProduct, SignFlip
from fedward.base.validate import InvalidValue
from fedward.core.check import check_setup
from fedward.core.round import plan_round
from fedward.core.types import ServerState, Sight
from fedward.presets import robust
from fedward.rundir import checkpoint
from fedward.sampling import FixedSizeSampler
from support import tiny_federation, tiny_model, tiny_sgd

FEDERATION, MODEL = tiny_federation(), tiny_model()
RULES: list[Rule] = [
    CentredClipping(radius=0.1),
    FoolsGold(),
    FLDetector(window=2),
    FLTrust(root=3),
    Flame(),
]


def algorithm_with(rule: Rule) -> Any:
    return robust(sampler=FixedSizeSampler(size=6), local=tiny_sgd(), rule=rule)


def states(rule: Rule, state: ServerState | None = None) -> list[ServerState]:
    rounds = fedward.rounds(algorithm_with(rule), MODEL, FEDERATION, rounds=4, seed=1, state=state)
    return [state for state, _ in rounds]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_training_goes_on_from_a_checkpoint_to_the_same_bits(rule: Rule) -> None:
    whole = states(rule)
    stored = checkpoint.from_bytes(checkpoint.to_bytes(whole[1]), "file")
    assert len(stored.memory) == len(whole[1].memory)
    assert all(torch.equal(a, b) for a, b in zip(stored.memory, whole[1].memory, strict=True))
    rest = states(rule, stored)
    assert torch.equal(rest[-1].parameters, whole[-1].parameters)


def test_what_was_remembered_changes_what_comes() -> None:
    rule = CentredClipping(radius=0.01)
    second = states(rule)[1]
    fresh = replace(second, memory=(torch.zeros_like(second.memory[0]),))
    assert not torch.equal(states(rule, second)[-1].parameters, states(rule, fresh)[-1].parameters)
    with_none = checkpoint.to_content(states(Krum(malicious=1))[0])
    assert "memory" not in with_none  # files of such runs are what they always were


def test_the_root_user_is_in_every_cohort_and_trains_like_the_others() -> None:
    algorithm = algorithm_with(FLTrust(root=3))
    state = algorithm.init(torch.zeros(sum(each.numel() for each in MODEL.parameters())))
    for seed in range(8):
        cohort = plan_round(algorithm, state, FEDERATION.roster, None, seed).cohort.tolist()
        assert 3 in cohort
        assert cohort == sorted(set(cohort))
        assert len(cohort) in (6, 7)
    with pytest.raises(InvalidValue, match=r"the root user of FLTrust.root=12. must be one of the 12 users"):
        check_setup(algorithm_with(FLTrust(root=12)), MODEL, FEDERATION.roster, None, 1)


def test_the_root_user_attacks_nobody() -> None:
    algorithm = algorithm_with(FLTrust(root=3))
    named = Attack(who=NamedUsers(users=(1, 3)), model=(SignFlip(),))
    with pytest.raises(InvalidValue, match=r"is the server's own .* and cannot attack"):
        named.stage(algorithm, FEDERATION, 1)
    for seed in range(6):
        attack = Attack(who=RandomUsers(count=8), model=(SignFlip(),))
        users = attack.stage(algorithm, FEDERATION, seed).adversary.users
        assert 3 not in users
        assert len(users) == 8
    with pytest.raises(InvalidValue, match="cannot attack"):
        Attack(who=RandomUsers(count=12), model=(SignFlip(),)).stage(algorithm, FEDERATION, 1)


def test_the_noise_of_flame_has_no_epsilon_and_the_guarantee_says_why() -> None:
    guarantee = algorithm_with(Flame()).guarantee(12, 3, 1e-3, "pld")
    assert not guarantee.private
    assert "no ε is proven" in str(guarantee)
    assert "no noise is added" in str(algorithm_with(Flame(noise=0.0)).guarantee(12, 3, 1e-3, "pld"))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_attackers_who_know_the_rule_and_its_memory_do_harm_and_are_repeatable(rule: Rule) -> None:
    algorithm = algorithm_with(rule)
    attack = Attack(
        who=NamedUsers(users=(0, 1, 2)), model=(OptimisedInnerProduct(steps=2),), knowledge="cohort"
    )
    staged = attack.stage(algorithm, FEDERATION, 1)
    ends = [train_under(staged, algorithm, MODEL, FEDERATION, rounds=3)[-1][0] for _ in range(2)]
    assert torch.equal(ends[0].parameters, ends[1].parameters)
    assert bool(torch.isfinite(ends[0].parameters).all())


def test_what_the_rule_remembers_is_shown_to_those_who_know_the_cohort_only() -> None:
    seen: list[Sight] = []

    class Watcher(SignFlip):
        def tamper(self, update: Any, sight: Sight, rng: Any) -> Any:
            seen.append(sight)
            return update

    algorithm = algorithm_with(CentredClipping(radius=0.1))
    for knowledge in ("own", "cohort"):
        attack = Attack(who=RandomUsers(count=6), model=(OptimisedInnerProduct(steps=1),), knowledge="cohort")
        attack = replace(attack, model=(Watcher(),), knowledge=knowledge)
        train_under(attack.stage(algorithm, FEDERATION, 1), algorithm, MODEL, FEDERATION, rounds=2)
    assert {len(sight.memory) for sight in seen if sight.cohort is None} == {0}
    assert {len(sight.memory) for sight in seen if sight.cohort is not None} == {1}


def test_a_file_can_name_a_rule_within_a_rule() -> None:
    from fedward.config.experiment import from_content
    from fedward.studies.training.setup import prepare

    content = {
        "seed": 1,
        "rounds": 1,
        "data": {"name": "digits", "users": 20},
        "model": {"name": "logistic_regression"},
        "algorithm": {
            "preset": "robust",
            "rule": {"name": "bucketing", "rule": {"name": "trimmed_mean", "trimmed": 2}},
            "sampler": {"name": "everyone"},
            "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 8, "epochs": 1},
        },
    }
    aggregator = prepare(from_content(content)).algorithm.aggregator
    assert re.fullmatch(r"Bucketing\(rule=TrimmedMean\(trimmed=2\), size=2\)", str(aggregator))
