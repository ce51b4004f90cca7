"""Experiment files that nobody would write: valid ones with something changed."""

from __future__ import annotations

import copy
import datetime
import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from fedward.attacks import MODEL_POISONINGS, POISONINGS
from fedward.config.listing import names
from fedward.config.starter.starter import starter
from fedward.presets import PRESETS

TINY = {"name": "synthetic", "users": 12, "examples": 6, "features": 4, "classes": 3, "test_examples": 20}
PICTURES = {"name": "digits", "users": 20}


def _starters() -> Iterator[dict[str, Any]]:
    for preset in PRESETS:
        yield tomllib.loads(starter(preset=preset)[0])
    for attack in (*POISONINGS, *MODEL_POISONINGS):
        preset = "insdp_fedavg" if attack == "skip_local_privacy" else "norm_bounding"
        data = "next_word" if attack == "word" else "digits"
        yield tomllib.loads(starter(preset=preset, attack=attack, data=data)[0])


CONTENTS = list(_starters())
"""A valid file for every preset and every attack."""

NUMBERS = [0, -1, 1, 2, 3, 2**31, 2**63, 2**64, 10**30, -(10**30), True, False]
FLOATS = [
    0.0,
    -0.0,
    0.5,
    1.0,
    5e-324,
    1e-300,
    1e-9,
    1e9,
    1e308,
    -1e308,
    -0.5,
    *map(float, ("inf", "-inf", "nan")),
]
TEXTS = ["", " ", "x", "ε", "\u0000", "a" * 2000, "../..", "seeded", "system", "moments", "rdp", *names()]
OTHERS: list[Any] = [
    [],
    [[]],
    {},
    {"": {}},
    {"name": "sgd"},
    {"preset": []},
    [1, "x"],
    datetime.date(2020, 1, 1),
    datetime.time(1, 2),
    datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
]
scalars = st.sampled_from([*NUMBERS, *FLOATS, *TEXTS]) | st.integers() | st.floats() | st.text(max_size=8)
values = st.sampled_from(OTHERS) | st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
# What a file gets is its own: further changes must not reach into the lists above.
values = values.map(copy.deepcopy)


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key of a file and every place in its lists."""
    inside = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in inside:
        yield (*path, key)
        if isinstance(value, dict | list) and len(path) < 8:
            yield from places(value, (*path, key))


@st.composite
def changed_contents(draw: st.DrawFn, most: int = 3) -> dict[str, Any]:
    """A valid file with one to three things changed."""
    content: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(CONTENTS)))
    for _ in range(draw(st.integers(1, most))):
        found = list(places(content))
        if not found:
            break
        *tables, last = draw(st.sampled_from(found))
        here: Any = content
        for key in tables:
            here = here[key]
        how = draw(
            st.sampled_from(["replace", "replace", "scalar", "delete", "add", "wrap", "deep", "repeat"])
        )
        if how == "delete":
            del here[last]
        elif how == "add" and isinstance(here, dict):
            here[draw(st.text(max_size=8) | st.sampled_from(list(content)))] = draw(values)
        elif how == "wrap":
            here[last] = draw(st.sampled_from([[here[last]], {"name": here[last]}, {str(last): here[last]}]))
        elif how == "deep":
            for _ in range(draw(st.sampled_from([3, 50, 2000]))):
                here[last] = [here[last]]
        elif how == "repeat" and isinstance(here, dict):
            here[str(last) + "s"] = here[last]
        else:
            here[last] = draw(scalars if how == "scalar" else values)
    return content
