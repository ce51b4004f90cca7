"""Commented experiment files to start from, written from the signatures and docstrings of their parts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from fedward.base.validate import one_of
from fedward.config.docstrings import arguments, first_sentence
from fedward.config.experiment import Experiment, from_content
from fedward.config.listing import KINDS
from fedward.config.starter import usual_values as usual
from fedward.config.starter.attack_table import attack_lines, attack_table
from fedward.config.starter.part_table import part, private
from fedward.config.starter.toml_text import Line, commented_out, table
from fedward.datasets import DATASETS
from fedward.local import LOCAL_TRAINERS
from fedward.models import MODELS
from fedward.presets import PRESETS

ROUNDS, EVERY = 30, 5


def starter(
    *,
    preset: str = "user_dp_fedavg",
    data: str = "digits",
    model: str | None = None,
    attack: str | None = None,
    name: str = "FILE",
) -> tuple[str, Experiment]:
    """The text of an experiment file that runs as it is, and the experiment that it describes.

    Args:
      preset: the algorithm.
      data: the data set.
      model: the model; one that fits the data if not given.
      attack: a poisoning of data or of updates; nobody attacks if not given.
      name: of the file, for the commands in its first lines.
    """
    one_of("preset", preset, PRESETS)
    one_of("data set", data, DATASETS)
    model = one_of("model", usual.MODEL_FOR[data] if model is None else model, MODELS)
    content: dict[str, Any] = {
        "seed": 1,
        "rounds": ROUNDS,
        "data": _data(preset, data),
        "model": {"name": model},
        "algorithm": part(preset, PRESETS[preset], "preset", KINDS["preset"].supplied or ()),
        "evaluation": {"every": EVERY},
    }
    # Where the data says how many users there are, the number that is declared is the same.
    declared = content["data"].get("users", usual.USERS)
    content["privacy"] = {"users": declared}
    wanted = attack_table(preset, data, attack)
    experiment = from_content(content | ({"attack": wanted} if attack else {}), f"a starter of {preset}")
    lines = [
        *_heading(preset, name),
        *table("", [Line("seed", 1, "of all that is drawn"), Line("rounds", ROUNDS)]),
        *table("data", _lines("data set", content["data"])),
        *table("model", _lines("model", content["model"])),
        *table("algorithm", _lines("preset", content["algorithm"])),
        *_sub_table("algorithm.local", content["algorithm"].get("local")),
        *(attack_lines(wanted) if attack else commented_out(attack_lines(wanted))),
        *_privacy(experiment, preset, declared),
        *table("evaluation", [Line("every", EVERY, "measure every so many rounds, and after the last")]),
        *commented_out(_sweep(content["algorithm"])),
    ]
    return "\n".join(lines).strip() + "\n", experiment


def _data(preset: str, data: str) -> dict[str, Any]:
    found = part(data, DATASETS[data], "name", ("seed",))
    if data == "digits":
        found["users"] = usual.FEW_USERS if private(preset) else usual.USERS
    return found


def _lines(kind: str, content: dict[str, Any]) -> list[Line]:
    """What a table holds, and what it could hold besides as comments."""
    tag = "preset" if kind == "preset" else "name"
    parts, supplied = KINDS[kind].parts, KINDS[kind].supplied or ()
    chosen: Any = parts[content[tag]]
    said = arguments(chosen)
    lines = [Line(tag, content[tag], f"or another one: fedward list {kind.replace(' ', '-')}")]
    parameters = {**inspect.signature(chosen).parameters}
    defaults = {key: parameter.default for key, parameter in parameters.items() if key not in supplied}
    if kind == "model":
        defaults["weights"] = None
    for key, default in defaults.items():
        own = usual.MEANINGS.get(f"{content[tag]}.{key}", usual.MEANINGS.get(key))
        words = own or first_sentence(said.get(key, ""))
        if key == "local":
            continue  # a table of its own
        if key in content:
            lines.append(Line(key, content[key], words))
        elif key == "data_dir":
            lines.append(Line(key, "DIR", "where data sets lie; else --data or FEDWARD_DATA", active=False))
        elif default is not None or key in usual.OPTIONAL:
            value = usual.OPTIONAL[key] if default is None else default
            lines.append(Line(key, value, words, active=False))
    # What is left as it is comes last: a person reads first what was chosen.
    return sorted(lines, key=lambda line: not line.active)


def _sub_table(title: str, content: dict[str, Any] | None) -> list[str]:
    if content is None:
        return []
    assert content["name"] in LOCAL_TRAINERS
    return table(title, _lines("local trainer", content))


def _privacy(experiment: Experiment, preset: str, declared: int) -> list[str]:
    algorithm = experiment.algorithm.build(**(experiment.algorithm.trial or {}))
    users = Line("users", declared, "N, declared: means are divided by q N, whoever joins or leaves")
    if algorithm.unproven:
        none = f"# {preset} has no guarantee of privacy: {algorithm.unproven}."
        return ["", none, *table("privacy", [users])[1:]]
    return table(
        "privacy",
        [
            users,
            Line(
                "delta",
                1e-3,
                "N^-1.1 if not given, at most 0.01, for N users (or examples, where those are hidden)",
                active=False,
            ),
            Line("accountant", "pld", "the tightest with a proof if not given", active=False),
            Line("budget", 10.0, "training ends before it spends a larger ε", active=False),
        ],
    )


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
