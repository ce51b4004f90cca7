from __future__ import annotations

from typing import Any

import pytest

from fedward.attacks import MODEL_POISONINGS, Attack, RandomUsers
from fedward.attacks.adaptive import untried
from fedward.config.tried_defence import tried_defence
from part_examples import parts

WHO = RandomUsers(count=1)
EXAMPLES = {type(part): part for part in parts("model poisoning")}


def experiment(preset: str, *names: str) -> dict[str, Any]:
    return {
        "algorithm": {"preset": preset, "malicious": 2},
        "attack": {"data": [], "model": [{"name": name} for name in names]},
    }


@pytest.mark.parametrize("name", MODEL_POISONINGS)
def test_a_file_says_of_an_attack_what_the_attack_says_of_itself(name: str) -> None:
    attack = Attack(who=WHO, model=(EXAMPLES[MODEL_POISONINGS[name]],), knowledge="cohort")
    tried = tried_defence(experiment("krum", name))
    assert tried is not None
    assert tried.adapts == attack.adapts


def test_the_mark_goes_where_nobody_knew_the_defence_with_these_parameters() -> None:
    krum, known, other = (
        experiment("krum", "scale"),
        experiment("krum", "adaptive_backdoor"),
        experiment("krum", "scale") | {"algorithm": {"preset": "krum", "malicious": 3}},
    )
    clean: dict[str, Any] = {"algorithm": {"preset": "krum"}, "attack": None}
    found = untried([tried_defence(each) for each in (krum, known, other, clean)])
    assert found == [False, False, True, False]


def test_what_is_no_defence_has_no_mark_and_an_attack_of_ones_own_does_not_count() -> None:
    assert tried_defence(experiment("fedavg", "scale")) is None
    own = tried_defence(experiment("median", "mine:Clever"))
    assert own is not None
    assert not own.adapts
