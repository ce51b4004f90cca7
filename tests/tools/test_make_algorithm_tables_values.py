"""The values that the tables of keys call allowed are taken, and others refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import part_examples
from docs_algorithms.algorithm_pages import TOOL, content
from fedward.aggregation import RULES
from fedward.base.validate import InvalidValue
from fedward.config import experiment as config
from fedward.config.listing import KINDS
from fedward.presets import PRESETS

SGD = {"name": "sgd", "learning_rate": 0.1, "batch_size": 8, "epochs": 1}
DP_SGD = {
    "name": "dp_sgd",
    "learning_rate": 0.1,
    "probability": 0.1,
    "expected_batch": 2.0,
    "steps": 1,
    "noise_multiplier": 1.0,
    "clip_bound": 1.0,
}
PARTS: dict[str, dict[str, dict[str, Any]]] = {
    "sampler": {
        "poisson": {"name": "poisson", "rate": 0.3},
        "fixed_size": {"name": "fixed_size", "size": 30},
        "everyone": {"name": "everyone"},
        "random_allocation": {"name": "random_allocation", "epoch": 4},
    },
    "local trainer": {
        "sgd": SGD,
        "projected_sgd": {"name": "projected_sgd", "sgd": SGD},
        "full_gradient": {"name": "full_gradient"},
        "dp_sgd": DP_SGD,
        "noisy_gradient": {"name": "noisy_gradient", "noise_multiplier": 1.0, "clip_bound": 1.0},
        "class_means": {"name": "class_means"},
    },
    "clip policy": {
        "fixed": {"name": "fixed", "clip_bound": 1.0},
        "none": {"name": "none"},
        "polynomial": {"name": "polynomial", "initial": 1.0, "power": 1.0, "rounds": 10},
        "norm_decay": {"name": "norm_decay", "initial": 1.0, "decay": 0.9, "look_noise": 3.5},
        "quantile": {"name": "quantile", "initial": 1.0, "quantile": 0.5, "bit_noise": 5.0},
        "histogram_median": {
            "name": "histogram_median",
            "initial": 1.0,
            "least": 0.01,
            "most": 10.0,
            "bins": 8,
            "look_noise": 5.0,
            "every": 2,
            "most_looks": 3,
        },
        "raw_median": {"name": "raw_median"},
    },
    "aggregator": {"mean": {"name": "mean"}, "weighted_mean": {"name": "weighted_mean"}}
    | {
        name: {"name": name, **vars(rule)}
        for name, kind in RULES.items()
        for rule in part_examples.parts("aggregator")
        if type(rule) is kind
    },
    "noise": {"gaussian": {"name": "gaussian", "multiplier": 1.0}, "none": {"name": "none"}},
    "server step": {
        **{name: {"name": name} for name in ("step", "momentum", "adam", "averaging")},
        "shrinkage": {"name": "shrinkage", "noise_std": 0.1},
        "projection": {"name": "projection", "directions": "directions.npy"},
        "model_clipping": {"name": "model_clipping", "norm": 2.0},
    },
}
# The key of [algorithm] that a part of each kind stands under.
PLACES = {
    "sampler": "sampler",
    "local trainer": "local",
    "clip policy": "policy",
    "server step": "server",
    "aggregator": "rule",
    "noise": "mechanism",
}
# Where two keys exclude each other, the one to take out when the other is tried.
EITHER_OR = {"policy": "clip_bound", "steps": "epochs"}


def taken(algorithm: dict[str, Any], preset: str) -> bool:
    try:
        config.from_content(content(preset) | {"algorithm": algorithm})
    except InvalidValue:
        return False
    return True


def with_key(table: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """The table with another value; without what that excludes."""
    return {name: old for name, old in table.items() if name != EITHER_OR.get(key)} | {key: value}


def with_part(preset: str, key: str, part: dict[str, Any]) -> dict[str, Any]:
    algorithm = with_key(copy.deepcopy(content(preset)["algorithm"]), key, part)
    if key == "policy" and algorithm.get("local", {}).get("name") == "dp_sgd":
        del algorithm["local"]["clip_bound"]  # there the bound is the local trainer's
    return algorithm


def keys_of(kind: str) -> list[tuple[str, str]]:
    return [(name, key) for name in KINDS[kind].parts for key in KINDS[kind].defaults(name)]


def names_of(allowed: Any) -> list[str]:
    return list(allowed.names or KINDS[allowed.kind].parts)


@pytest.mark.parametrize(("preset", "key"), keys_of("preset"))
def test_a_preset_takes_what_its_page_allows_and_nothing_else(preset: str, key: str) -> None:
    allowed = TOOL["WORDS"]["of"]("preset", preset, key)
    algorithm = content(preset)["algorithm"]
    if hasattr(allowed, "kind"):
        found = [
            name for name, part in PARTS[allowed.kind].items() if taken(with_part(preset, key, part), preset)
        ]
        assert found == [name for name in PARTS[allowed.kind] if name in names_of(allowed)]
        return
    for value in allowed.inside:
        assert taken(with_key(algorithm, key, value), preset), value
    for value in allowed.outside:
        assert not taken(with_key(algorithm, key, value), preset), value


@pytest.mark.parametrize(
    ("kind", "name", "key"),
    [(kind, name, key) for kind in PARTS for name, key in keys_of(kind)],
    ids=lambda part: part.replace(" ", "-"),
)
def test_a_part_takes_what_its_table_allows_and_nothing_else(kind: str, name: str, key: str) -> None:
    allowed = TOOL["WORDS"]["of"](kind, name, key)
    preset = {"noise": "composed", "aggregator": "robust"}.get(kind, "user_dp_fedavg")

    def tried(value: Any) -> bool:
        part = with_key(PARTS[kind][name], key, value)
        return taken(with_part(preset, PLACES[kind], part), preset)

    if hasattr(allowed, "kind"):
        found = [part for part in PARTS[allowed.kind] if tried(PARTS[allowed.kind][part])]
        assert found == names_of(allowed)
        return
    for value in allowed.inside:
        assert tried(value), value
    for value in allowed.outside:
        assert not tried(value), value


def test_every_part_is_tried() -> None:
    for kind, parts in PARTS.items():
        assert list(parts) == list(KINDS[kind].parts)
    assert {preset for preset, _ in keys_of("preset")} == set(PRESETS)


def test_nothing_is_said_about_keys_that_are_not_there() -> None:
    kinds = ("preset", *PARTS)
    every = {(kind, *name_and_key) for kind in kinds for name_and_key in keys_of(kind)}
    own = {" ".join(part) for part in every}
    said = TOOL["WORDS"]["KEYS"]
    assert {about for about in said if " " in about} <= own
    shared = {key for kind, name, key in every if f"{kind} {name} {key}" not in said}
    assert {about for about in said if " " not in about} == shared
