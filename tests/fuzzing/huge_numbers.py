"""Valid experiment files of which one whole number is absurd: ten million millions."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedward.config.listing import KINDS
from fedward.config.starter.starter import starter
from fedward.config.toml_text import toml
from fuzzing.fuzzed_commands import run

HUGE = 10**13

DATA = {"name": "digits", "users": 20}
TINY = {"name": "synthetic", "users": 12, "examples": 6, "features": 4, "classes": 3, "test_examples": 20}
_SECTIONS = (("seed",), ("rounds",), ("evaluation", "every"), ("privacy", "users"), ("attack", "rounds"))
_TABLES = {
    **{kind.place.rpartition(".")[2]: kind for kind in KINDS.values() if kind.supplied is not None},
    "data": KINDS["data set"],
    "model": KINDS["model"],
    "algorithm": KINDS["preset"],
    "rule": KINDS["aggregator"],
    "aggregator": KINDS["aggregator"],
    "pattern": KINDS["pattern"],
    "feature": KINDS["feature"],
}
_LISTS = ("attack.rounds", "attack.who.users", "data.classes", "data.size")
Place = tuple[str | int, ...]


PARTS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "sampler": (
        "fedavg",
        [{"name": "fixed_size", "size": 5}],
    ),
    "local": (
        "fedavg",
        [
            {"name": "sgd", "learning_rate": 0.1, "batch_size": 8, "steps": 2},
            {"name": "full_gradient", "learning_rate": 0.1},
        ],
    ),
    "policy": (
        "composed",
        [
            {"name": "polynomial", "initial": 1.0, "power": 1.0, "rounds": 30},
            {
                "name": "histogram_median",
                "initial": 1.0,
                "look_noise": 5.0,
                "every": 5,
                "most_looks": 3,
            },
        ],
    ),
    "rule": (
        "robust",
        [
            {"name": "krum", "malicious": 2},
            {"name": "multi_krum", "malicious": 2, "selected": 3},
            {"name": "trimmed_mean", "trimmed": 2},
            {"name": "geometric_median"},
            {"name": "bulyan", "malicious": 1},
        ],
    ),
}
"""Parts that take whole numbers, by their key, and a preset that takes them."""


def sound_files() -> Iterator[dict[str, Any]]:
    """A small valid file for every preset, for every part and attack with whole numbers, and for data."""
    for preset in KINDS["preset"].parts:
        yield _starter(preset)
    for key, (preset, parts) in PARTS.items():
        for part in parts:
            yield _changed(_starter(preset), ("algorithm", key), part)
    for attack in (*KINDS["data poisoning"].parts, "train_and_scale", "constrain_and_scale"):
        if attack != "word":  # its data lie in files
            yield _starter("norm_bounding", attack=attack)
    triangle = {"name": "triangle", "size": 2}
    yield _changed(_starter("fedavg", attack="pattern"), ("attack", "data", 0, "pattern"), triangle)
    per_cohort = {"name": "per_cohort", "count": 2, "each": 1}
    yield _changed(_starter("fedavg", attack="label_flip"), ("attack", "who"), per_cohort)
    yield _changed(_starter("fedavg"), ("data",), TINY)
    for feature in ("hog", "scattering"):
        made = _changed(_starter("fedavg"), ("data", "public_features"), {"name": feature, "public_users": 5})
        yield _changed(made, ("model",), {"name": "linear_head"})
    for split in ({"split": "iid"}, {"split": "dirichlet", "alpha": 0.5}):
        yield _changed(_starter("fedavg"), ("data",), DATA | split)


def _starter(preset: str, **more: Any) -> dict[str, Any]:
    if more.get("attack") == "skip_local_privacy":
        preset = "insdp_fedavg"
    content = starter(preset=preset, **more)[1]
    content["rounds"] = 30
    if content["data"]["name"] == "digits":
        content |= {"data": content["data"] | {"users": 20}, "privacy": {"users": 20, "accountant": "rdp"}}
        content["model"] = {"name": "logistic_regression"}
        if preset == "bulyan":
            content["algorithm"]["malicious"] = 1
        if "attack" in content:
            content["attack"] = content["attack"] | {"who": {"name": "random", "count": 2}}
    return content


def huge_files() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each whole number that files take, given or not, made huge once; and what it is called."""
    seen = set()
    for content in sound_files():
        for place in (*_SECTIONS, *_whole_numbers(content, ())):
            key = (_part_at(content, place[:-1]), place[-1])
            if key in seen or (place[0] == "attack" and "attack" not in content):
                continue
            seen.add(key)
            name = ".".join(map(str, place))
            made = _changed(content, place, [HUGE] if name in _LISTS else HUGE)
            if name == "algorithm.local.steps":
                made["algorithm"]["local"].pop("epochs", None)
            yield f"{name} of {key[0]}", made


def _part_at(content: dict[str, Any], place: Place) -> str:
    table: Any = content
    for key in place:
        table = table.get(key, {}) if isinstance(table, dict) else table[key]
    kind = place[0] if place else "file"
    return f"{kind} {table.get('preset', table.get('name', ''))}"


def _whole_numbers(table: dict[str, Any], where: Place) -> Iterator[Place]:
    for key, inner in table.items():
        parts = inner if isinstance(inner, list) else [inner]
        for number, part in enumerate(parts):
            if not isinstance(part, dict):
                continue
            place = (*where, key) if part is inner else (*where, key, number)
            kind = _kind(key, where)
            name = part.get("name", part.get("preset"))
            if kind is not None and name in kind.parts:
                source = kind.parts[name]
                assert not isinstance(source, str)
                for each, written in source.keys.items():
                    if "int" in written.annotation and each not in (kind.supplied or ()):
                        yield (*place, each)
            yield from _whole_numbers(part, place)


def _kind(key: str, where: Place) -> Any:
    if where == ("attack",):
        return {
            "data": KINDS["data poisoning"],
            "model": KINDS["model poisoning"],
            "who": KINDS["attacker"],
        }.get(key)
    if key == "public_features":
        return KINDS["public feature"]
    return _TABLES.get(key)


def _changed(content: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(content)
    table: Any = made
    for key in place[:-1]:
        table = table.setdefault(key, {}) if isinstance(table, dict) else table[key]
    table[place[-1]] = value
    return made


def check(content: dict[str, Any], folder: Path) -> int:
    """What ``fedward check`` says of it."""
    text = "\n".join(f"{toml(key)} = {toml(value)}" for key, value in content.items())
    (folder / "file.toml").write_text(text, encoding="utf8")
    return run(["check", "file.toml", "--workers", "0"], folder)
