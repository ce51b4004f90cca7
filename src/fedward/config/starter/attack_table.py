"""The attack of a starter file."""

from __future__ import annotations

from typing import Any

from fedward.attacks import MODEL_POISONINGS, POISONINGS
from fedward.base.validate import one_of
from fedward.config.attack_section import AttackSection
from fedward.config.starter import usual_values as usual
from fedward.config.starter.part_table import part, private
from fedward.config.starter.toml_text import Line, table


def attack_table(preset: str, data: str, attack: str | None) -> dict[str, Any]:
    """One that fits the data; with a name, that one."""
    names = [*POISONINGS, *MODEL_POISONINGS]
    if attack is not None:
        one_of("attack", attack, names)
    on_data = attack if attack in POISONINGS else usual.ATTACK_FOR.get(data, "single_pixel")
    assert on_data is not None
    found: dict[str, Any] = {
        "who": {"name": "random", "count": usual.FEW_ATTACKERS if private(preset) else usual.ATTACKERS},
        "data": [part(on_data, POISONINGS[on_data], "name", ())],
    }
    if attack in MODEL_POISONINGS:
        found["model"] = [part(attack, MODEL_POISONINGS[attack], "name", ())]
        parts = AttackSection.model_validate(found | {"knowledge": "cohort"}).build().model
        if any(each.needs == "cohort" for each in parts):
            found["knowledge"] = "cohort"
    return found


def attack_lines(content: dict[str, Any]) -> list[str]:
    """The table ``[attack]`` as text."""
    model = content.get("model")
    return table(
        "attack",
        [
            Line("who", content["who"], "which users: fedward list attacker"),
            Line("data", content["data"], "what they do to their examples: fedward list data-poisoning"),
            Line(
                "model",
                model or [{"name": "scale", "factor": 5.0}],
                "what they send: fedward list model-poisoning",
                active=model is not None,
            ),
            Line(
                "knowledge",
                content.get("knowledge", "own"),
                "own, or cohort: they see all honest updates as well",
                active="knowledge" in content,
            ),
            Line("rounds", [10, 20], "counted from 0; all rounds if not given", active=False),
            Line("test_share", 0.2, "of the test examples, to measure the attack on", active=False),
        ],
    )
