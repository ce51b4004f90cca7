"""The tables of a starter file: the name of each part, and all that it cannot do without."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

from fedward.attacks import MODEL_POISONINGS, POISONINGS
from fedward.base.validate import InvalidValue, one_of
from fedward.config.attack_section import AttackSection
from fedward.config.starter import usual_values as usual
from fedward.core.types import LocalTrainer
from fedward.local import DPSGD, SGD
from fedward.presets import PRESETS


def part(name: str, factory: Callable[..., Any], tag: str, supplied: tuple[str, ...]) -> dict[str, Any]:
    """The table of one part; ``supplied`` are arguments that files need not give."""
    hints, own = typing.get_type_hints(factory), usual.OWN.get(name, {})
    table: dict[str, Any] = {tag: name}
    for key, parameter in inspect.signature(factory).parameters.items():
        # Where a policy may stand in its place the bound has no default, but one of them must be there.
        needed = parameter.default is inspect.Parameter.empty or (key == "clip_bound" and "policy" in hints)
        if key in supplied or not (needed or key in own):
            continue
        if key in own:
            table[key] = own[key]
        elif hints[key] in (LocalTrainer, SGD):
            table[key] = usual.SGD
        elif hints[key] is DPSGD:
            table[key] = usual.DP_SGD
        elif key in usual.USUAL:
            table[key] = usual.USUAL[key]
        else:
            raise InvalidValue(f"a starter has no usual value for {key} of {name}")
    return table


def attack_table(preset: str, data: str, attack: str | None) -> dict[str, Any]:
    """An attack that fits the data; with a name, that one."""
    if attack is not None:
        one_of("attack", attack, [*POISONINGS, *MODEL_POISONINGS])
    on_data = attack if attack in POISONINGS else usual.ATTACK_FOR.get(data, "single_pixel")
    assert on_data is not None
    count = usual.FEW_ATTACKERS if protects_examples(preset) else usual.ATTACKERS
    table: dict[str, Any] = {
        "who": {"name": "random", "count": count},
        "data": [part(on_data, POISONINGS[on_data], "name", ())],
    }
    if attack in MODEL_POISONINGS:
        table["model"] = [part(attack, MODEL_POISONINGS[attack], "name", ())]
        parts = AttackSection.model_validate(table | {"knowledge": "cohort"}).build().model
        if any(each.needs == "cohort" for each in parts):
            table["knowledge"] = "cohort"
    return table


def protects_examples(preset: str) -> bool:
    """Whether users of this preset protect their own examples."""
    return typing.get_type_hints(PRESETS[preset]).get("local") is DPSGD
