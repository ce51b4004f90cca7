"""Every part of an attack goes through the same checks; its examples are in ``part_examples``."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from attacks.poisoning.tiny_text import VOCABULARY, tiny_text
from attacks.staged_training import train_under
from fedward.aggregation import AGGREGATORS, RULES
from fedward.attacks import Attack, NamedUsers, RandomUsers, Staged
from fedward.attacks.model_poisoning import SkipLocalPrivacy
from fedward.attacks.poisoning import SinglePixel, WordBackdoor
from fedward.base.validate import InvalidValue
from fedward.core.algorithm import Algorithm
from fedward.core.types import RoundLog, ServerState
from fedward.local import SGD
from fedward.models import build
from fedward.presets import robust
from fedward.sampling import PoissonSampler
from fedward.testing import check_attack
from part_examples import EVERYONE, PRESET_EXAMPLES, parts
from support import tiny_algorithm, tiny_picture_model, tiny_pictures, tiny_sgd

PICTURES, PICTURE_MODEL = tiny_pictures(), tiny_picture_model()
TEXT = tiny_text(num_users=12)

SOME_USERS = NamedUsers(users=(1, 4, 9))


def attack_by(part: Any, who: Any = SOME_USERS) -> Attack:
    """One poisoning and nothing else, with the least knowledge that it needs."""
    if part in parts("poisoning"):
        return Attack(who=who, data=(part,))
    return Attack(who=who, model=(part,), knowledge=part.needs)


# Sentences need text: attacks/poisoning/test_word_training.py has these checks for them.
POISONINGS = [part for part in parts("poisoning") if not isinstance(part, WordBackdoor)]
# Whoever skips local privacy must have some: that one is tried against the presets only.
ATTACK_PARTS = [part for part in (*POISONINGS, *parts("model poisoning")) if part != SkipLocalPrivacy()]
ATTACKS = [*map(attack_by, ATTACK_PARTS), *(attack_by(SinglePixel(), who) for who in parts("who"))]


# Every preset, and every rule that has none.
NAMED_RULES = {type(getattr(each.aggregator, "rule", None)) for each in PRESET_EXAMPLES.values()}
DEFENCES = [
    *PRESET_EXAMPLES.values(),
    *(
        robust(**EVERYONE, rule=rule)
        for rule in parts("aggregator")
        if type(rule) in set(RULES.values()) - NAMED_RULES
    ),
]


def under(
    staged: Staged | None, algorithm: Algorithm, *, rounds: int = 2, state: ServerState | None = None
) -> list[tuple[ServerState, RoundLog]]:
    return train_under(staged, algorithm, PICTURE_MODEL, PICTURES, rounds=rounds, state=state)


@pytest.mark.parametrize("part", [*parts("poisoning"), *parts("model poisoning"), *parts("who")], ids=repr)
def test_a_part_of_an_attack_keeps_the_promises_of_its_kind(part: Any) -> None:
    if isinstance(part, WordBackdoor):
        model = build(
            "word_lstm", input_shape=(), num_classes=TEXT.num_classes, vocabulary=VOCABULARY, seed=1
        )
        check_attack(part, federation=TEXT, model=model)
    else:
        check_attack(part)


@pytest.mark.parametrize("attack", ATTACKS, ids=repr)
def test_an_attack_keeps_its_promises_in_a_training(attack: Attack) -> None:
    check_attack(attack, federation=PICTURES, model=PICTURE_MODEL)


@pytest.mark.parametrize("part", ATTACK_PARTS, ids=repr)
def test_an_empty_cohort_no_attacker_and_only_attackers_are_trainings_like_any_other(part: Any) -> None:
    nobody = tiny_algorithm(sampler=PoissonSampler(rate=1e-9))
    states = under(attack_by(part).stage(nobody, PICTURES, 1, PICTURE_MODEL), nobody)
    assert all(log.telemetry is not None and not log.telemetry.cohort for _, log in states)
    assert torch.equal(states[-1][0].parameters, under(None, nobody)[-1][0].parameters)

    algorithm = tiny_algorithm()
    none = attack_by(part, RandomUsers(count=0)).stage(algorithm, PICTURES, 1, PICTURE_MODEL)
    clean = under(None, algorithm)[-1][0].parameters
    assert torch.equal(under(none, algorithm)[-1][0].parameters, clean)

    everybody = under(
        attack_by(part, RandomUsers(count=12)).stage(algorithm, PICTURES, 1, PICTURE_MODEL), algorithm
    )
    assert bool(torch.isfinite(everybody[-1][0].parameters).all())
    for _, log in everybody:
        assert log.telemetry is not None
        assert log.telemetry.malicious == log.telemetry.cohort
        assert log.telemetry.norms_of(malicious=False) == ()


@pytest.mark.parametrize("part", [*ATTACK_PARTS, SkipLocalPrivacy()], ids=repr)
def test_an_attack_can_be_carried_out_against_every_preset(part: Any) -> None:
    aggregators = [algorithm.aggregator for algorithm in DEFENCES]
    assert {type(getattr(part, "rule", part)) for part in aggregators} == set(AGGREGATORS.values())
    for preset in DEFENCES:
        quick = tiny_sgd(epochs=None, steps=1) if isinstance(preset.local, SGD) else preset.local
        algorithm = dataclasses.replace(preset, local=quick)
        staged = attack_by(part).stage(algorithm, PICTURES, 1, PICTURE_MODEL)
        if part == SkipLocalPrivacy() and algorithm.accounting == "server":
            with pytest.raises(InvalidValue, match="only users that protect themselves can skip"):
                under(staged, algorithm)
            continue
        state, log = under(staged, algorithm)[-1]
        assert bool(torch.isfinite(state.parameters).all()), algorithm.name
        assert log.telemetry is not None
        assert log.telemetry.rejected == (), algorithm.name
        # What is promised stays as it was or is taken back: no attack makes a promise.
        assert state.ledger == staged.algorithm.planned_ledger(12, 2)
        told = dataclasses.replace(staged.algorithm, handed_out=0)
        same = (algorithm, dataclasses.replace(algorithm, deviating=True))
        assert told in same or staged.algorithm.unproven, algorithm.name
