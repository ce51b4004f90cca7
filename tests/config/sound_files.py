"""Experiment files with the right keys and types, and values that may or may not go together."""

from __future__ import annotations

import copy
from inspect import signature
from typing import Any

from hypothesis import strategies as st

from config.fuzzed_files import CONTENTS
from fedward.presets import PRESETS

SYNTHETIC = {
    "name": "synthetic",
    "users": 12,
    "examples": 6,
    "features": 4,
    "classes": 3,
    "test_examples": 20,
}
usual = st.sampled_from([0.1, 0.3, 0.5, 0.9, 1.0, 2.0, 3.0])
numbers = usual | usual | st.sampled_from([1e-300, 1e-9, 0.01, 30.0, 1e9, 1e308]) | st.floats(0.0, 10.0)
units = st.sampled_from([0.1, 0.5, 0.9, 1e-300, 0.999999, 1.0, 1.5])
UNITS = ("probability", "momentum", "decay", "quantile", "learning_rate_decay")
small = st.sampled_from([1, 1, 2, 2, 3])
few = small | small | small | small | st.sampled_from([0, 5, 11, 12, 13, 100, 2**31, 2**63])
samplers = (
    st.fixed_dictionaries({"name": st.just("poisson"), "rate": st.sampled_from([1e-9, 0.01, 0.5, 1.0, 1])})
    | st.fixed_dictionaries({"name": st.just("fixed_size"), "size": few})
    | st.fixed_dictionaries(
        {"name": st.just("everyone")}, optional={"adjacency": st.sampled_from(["add/remove", "replace-one"])}
    )
)
servers = st.fixed_dictionaries(
    {"name": st.sampled_from(["step", "momentum", "adam"])}, optional={"learning_rate": numbers}
)
policies = (
    st.fixed_dictionaries({"name": st.just("fixed"), "clip_bound": numbers})
    | st.just({"name": "none"})
    | st.just({"name": "raw_median"})
    | st.fixed_dictionaries(
        {"name": st.just("polynomial"), "initial": numbers, "power": numbers, "rounds": few}
    )
    | st.fixed_dictionaries(
        {"name": st.just("norm_decay"), "initial": numbers, "decay": numbers, "look_noise": numbers}
    )
    | st.fixed_dictionaries(
        {"name": st.just("quantile"), "initial": numbers, "quantile": numbers, "bit_noise": numbers}
    )
)
privacy = st.fixed_dictionaries(
    {},
    optional={
        "delta": st.sampled_from([1e-300, 1e-12, 1e-5, 0.01, 0.5, 0.999]),
        "budget": numbers,
        "users": few,
    },
)
attacks = st.fixed_dictionaries(
    {
        "who": st.fixed_dictionaries({"name": st.just("random"), "count": few})
        | st.fixed_dictionaries({"name": st.just("per_cohort"), "count": few, "each": few})
        | st.fixed_dictionaries({"name": st.just("named"), "users": st.lists(few, max_size=3)})
    },
    optional={
        "data": st.lists(
            st.fixed_dictionaries(
                {"name": st.just("label_flip"), "target": few}, optional={"source": few, "fraction": numbers}
            ),
            max_size=2,
        ),
        "model": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from(["scale", "inner_product"]), "factor": numbers})
            | st.just({"name": "sign_flip"})
            | st.just({"name": "a_little_is_enough"})
            | st.just({"name": "skip_local_privacy"})
            | st.fixed_dictionaries({"name": st.just("gaussian"), "std": numbers}),
            max_size=2,
        ),
        "knowledge": st.sampled_from(["own", "cohort"]),
        "rounds": st.lists(st.sampled_from([0, 1, 2]), max_size=2),
        "test_share": numbers,
        "cost_bound": numbers,
    },
)


@st.composite
def sound_contents(draw: st.DrawFn) -> dict[str, Any]:
    """Files with the right keys and types, and values that may or may not go together."""
    preset = draw(st.sampled_from(list(PRESETS)))
    content = copy.deepcopy(next(each for each in CONTENTS if each["algorithm"]["preset"] == preset))
    algorithm = content["algorithm"]
    content |= {"data": SYNTHETIC, "model": {"name": draw(st.sampled_from(["logistic_regression", "mlp"]))}}
    content["rounds"] = draw(st.sampled_from([1, 2, 3, 50]))
    content["seed"] = 1
    algorithm["sampler"] = draw(samplers)
    local = algorithm.get("local", {})
    for table in (algorithm, local):
        for key, value in table.items():
            if isinstance(value, float | int) and draw(st.integers(0, 2)) == 0:
                strange = few if isinstance(value, int) else units if key in UNITS else numbers
                table[key] = draw(strange)
    if draw(st.booleans()):
        algorithm["server"] = draw(servers)
    if "policy" in signature(PRESETS[preset]).parameters and draw(st.booleans()):
        algorithm["policy"] = draw(policies)
        algorithm.pop("clip_bound", None)
        local.pop("clip_bound", None)
    # Not pld: with little noise it takes seconds, and all starters are checked with it.
    content["privacy"] = draw(privacy) | {"accountant": draw(st.sampled_from(["rdp", "moments"]))}
    if draw(st.booleans()):
        content["attack"] = draw(attacks)
    content["evaluation"] = {"every": draw(few)}
    return content
