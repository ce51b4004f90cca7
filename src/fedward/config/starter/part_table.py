"""The tables of a starter file: the name of each part, and all that it cannot do without."""

from __future__ import annotations

from typing import Any

from fedward.base.validate import InvalidValue, one_of
from fedward.config.listing import MODEL_POISONINGS, POISONINGS, PRESETS
from fedward.config.part_source import NO_DEFAULT, PartSource
from fedward.config.starter import usual_values as usual


def part(name: str, source: PartSource, tag: str, supplied: tuple[str, ...]) -> dict[str, Any]:
    """The table of one part; ``supplied`` are arguments that files need not give."""
    keys, own = source.keys, usual.OWN.get(name, {})
    table: dict[str, Any] = {tag: name}
    for key, written in keys.items():
        # Where a policy may stand in its place the bound has no default, but one of them must be there.
        needed = written.default is NO_DEFAULT or (key == "clip_bound" and "policy" in keys)
        if key in supplied or not (needed or key in own):
            continue
        if key in own:
            table[key] = own[key]
        elif written.annotation in ("LocalTrainer", "SGD"):
            table[key] = usual.SGD
        elif written.annotation == "DPSGD":
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
        if attack in usual.SEE_COHORT:
            table["knowledge"] = "cohort"
    return table


def protects_examples(preset: str) -> bool:
    """Whether users of this preset protect their own examples."""
    local = PRESETS[preset].keys.get("local")
    return local is not None and local.annotation == "DPSGD"
