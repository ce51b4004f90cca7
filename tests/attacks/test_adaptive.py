from __future__ import annotations

from typing import Any

import pytest
import torch

from fedward.aggregation import AGGREGATORS, AllRows, Bucketing, Krum
from fedward.attacks import MODEL_POISONINGS, Attack, RandomUsers
from fedward.attacks.adaptive import (
    ADAPTIVE_ATTACKERS,
    AdaptiveAttacker,
    adaptive_attack_for,
    adaptive_attacker_for,
    tried_adaptively,
)
from fedward.attacks.model_poisoning import AdaptiveBackdoor, Scale
from part_examples import AGGREGATOR_EXAMPLES, parts

WHO = RandomUsers(count=1)


def test_every_defence_of_ours_says_which_attacker_knows_it() -> None:
    assert set(ADAPTIVE_ATTACKERS) == set(AGGREGATORS.values())


@pytest.mark.parametrize("aggregator", AGGREGATOR_EXAMPLES, ids=str)
def test_the_attack_that_is_named_knows_its_defence_when_it_is_staged(aggregator: Any) -> None:
    name = adaptive_attack_for(aggregator)
    assert name is not None
    attack: Any = MODEL_POISONINGS[name]()
    assert attack.conduct.adapts
    fitted = attack.against(aggregator)
    rule = aggregator.rule if isinstance(aggregator, AllRows) else aggregator
    assert rule in (fitted.rule, getattr(fitted.rule, "aggregator", None))


@pytest.mark.parametrize(
    "rule", [part for part in parts("aggregator") if hasattr(part, "first_memory")], ids=str
)
def test_a_rule_that_remembers_is_not_said_to_be_known_for_later_rounds(rule: Any) -> None:
    attacker = adaptive_attacker_for(rule)
    assert attacker is not None
    assert ("later rounds" in attacker.without) == bool(rule.first_memory(torch.zeros(3)))


def test_what_goes_before_a_rule_adds_to_what_is_not_known_of_it() -> None:
    assert adaptive_attacker_for(Bucketing(rule=Krum(malicious=1))) == AdaptiveAttacker(
        attack="adaptive_backdoor", without=("chance",)
    )


def test_a_rule_of_ones_own_can_be_tried_out_and_an_aggregator_of_ones_own_cannot() -> None:
    class Own:
        least_rows = 1

        def combine(self, rows: list[Any]) -> Any:
            return rows[0].double()

    assert adaptive_attack_for(AllRows(rule=Own())) == "adaptive_backdoor"
    own: Any = object()
    assert adaptive_attack_for(own) is None


def test_only_an_attack_that_knew_the_defence_counts_as_such() -> None:
    scaled = Attack(who=WHO, model=(Scale(factor=2.0),))
    adaptive = Attack(who=WHO, model=(AdaptiveBackdoor(),), knowledge="cohort")
    assert not tried_adaptively([None, scaled])
    assert tried_adaptively([None, scaled, adaptive])
