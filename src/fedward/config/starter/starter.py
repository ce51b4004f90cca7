"""Commented experiment files to start from, written from the signatures and docstrings of their parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fedward.base.validate import one_of
from fedward.config.docstrings import in_short
from fedward.config.listing import DATASETS, KINDS, MODELS, PRESETS
from fedward.config.part_source import read_descriptions
from fedward.config.starter import usual_values as usual
from fedward.config.starter.part_table import attack_table, part, protects_examples
from fedward.config.toml_text import Line, comment_out, table

ROUNDS, EVERY = 30, 5

# Keys that hold parts, and the kind that ``fedward list`` lists them under.
_LISTED = {
    kind.place.rpartition(".")[2]: kind.name
    for kind in KINDS.values()
    if kind.place.startswith(("algorithm.", "attack."))
}


def starter(
    *,
    preset: str = "user_dp_fedavg",
    data: str = "digits",
    model: str | None = None,
    attack: str | None = None,
    name: str = "FILE",
) -> tuple[str, dict[str, Any]]:
    """The text of an experiment file that runs as it is, and the tables that it holds.

    No part is imported or made: whether a model or an attack fits the data is not known here.

    Args:
      preset: the algorithm.
      data: the data set.
      model: the model; one that fits the data if not given.
      attack: a poisoning of data or of updates; nobody attacks if not given.
      name: of the file, for the commands in its first lines.
    """
    one_of("preset", preset, PRESETS)
    one_of("data set", data, DATASETS)
    model = one_of("model", usual.MODEL_FOR.get(data, usual.ANY_MODEL) if model is None else model, MODELS)
    first = {"seed": 1, "rounds": ROUNDS}
    algorithm = part(preset, PRESETS[preset], "preset", KINDS["preset"].supplied or ())
    data_table = part(data, DATASETS[data], "name", ("seed",))
    if data == "digits":
        data_table["users"] = usual.FEW_USERS if protects_examples(preset) else usual.USERS
    content: dict[str, Any] = first | {
        "data": data_table,
        "model": {"name": model},
        "algorithm": algorithm,
        "evaluation": {"every": EVERY},
        # Where the data says how many users there are, the number that is declared is the same.
        "privacy": {"users": data_table.get("users", usual.USERS)},
    }
    attacked = attack_table(preset, data, attack)
    attack_lines = table("attack", _section("AttackSection", attacked, usual.ATTACK))
    lines = [
        *_heading(preset, name),
        *table("", _section("Experiment", first)),
        *table("data", _part("data set", data_table)),
        *table("model", _part("model", content["model"])),
        *table("algorithm", _part("preset", algorithm)),
        *(
            table("algorithm.local", _part("local trainer", algorithm["local"]))
            if "local" in algorithm
            else []
        ),
        *(attack_lines if attack else comment_out(attack_lines)),
        *_privacy(preset, content["privacy"]),
        *table("evaluation", _section("EvaluationSection", content["evaluation"])),
        *comment_out(_sweep(algorithm)),
    ]
    return "\n".join(lines).strip() + "\n", content | ({"attack": attacked} if attack else {})


def _part(kind: str, content: dict[str, Any]) -> list[Line]:
    """What the table of a part holds, and what it could hold besides as comments."""
    tag = "preset" if kind == "preset" else "name"
    name = content[tag]
    lines = [Line(tag, name, f"or another one{_list(kind)}")]
    more = {"weights": None} if kind == "model" else {}
    for key, default in (KINDS[kind].defaults(name) | more).items():
        words = _words(KINDS[kind].meaning(name, key), key)
        if key == "local":
            continue  # a table of its own
        if key in content:
            lines.append(Line(key, content[key], words))
        elif default is not None or key in usual.OPTIONAL:
            lines.append(Line(key, usual.OPTIONAL[key] if default is None else default, words, active=False))
    # What is left as it is comes last: a person reads first what was chosen.
    return sorted(lines, key=lambda line: not line.active)


def _section(section: str, given: dict[str, Any], more: dict[str, Any] | None = None) -> list[Line]:
    """The keys of a table in the order of the file format; those with ``more`` values are comments."""
    values = (more or {}) | given
    return [
        Line(key, values[key], _words(description, key), active=key in given)
        for key, description in read_descriptions("fedward.config.experiment", section).items()
        if key in values
    ]


def _words(meaning: str, key: str) -> str:
    return in_short(meaning) + (_list(_LISTED[key]) if key in _LISTED else "")


def _list(kind: str) -> str:
    return f": fedward list {kind.replace(' ', '-')}"


def _privacy(preset: str, content: dict[str, Any]) -> list[str]:
    if preset in usual.NO_NOISE:
        none = f"# {preset} has no guarantee of privacy: no noise is added."
        return ["", none, *table("privacy", _section("PrivacySection", content))[1:]]
    return table("privacy", _section("PrivacySection", content, usual.PRIVACY))


def _sweep(algorithm: dict[str, Any]) -> list[str]:
    keys = [key for key, value in algorithm.items() if isinstance(value, float)]
    if "noise_multiplier" in keys:
        keys = ["noise_multiplier"]
    key = keys[0] if keys else "local.learning_rate"
    value = algorithm[key] if keys else algorithm["local"]["learning_rate"]
    return table(
        "sweep",
        [
            Line("seeds", 3, "trainings of each, for means and intervals"),
            Line(f'"algorithm.{key}"', [value / 2, value, value * 2], "fedward sweep runs all of them"),
        ],
    )


def _heading(preset: str, name: str) -> Iterator[str]:
    yield f"# {KINDS['preset'].line(preset)}"
    yield "#"
    yield f"#   fedward check {name}    what is wrong with it, or what it would do and cost"
    yield f"#   fedward run {name}      runs it, or goes on where it was left"
    yield "#"
    yield "# Keys behind a # are left at their default, or not given: take the # away to set them."
