"""Every part of every slot keeps the promises of its kind; its examples are in ``part_examples``."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch

from core.correlated import Correlated
from fedward import testing
from fedward.attacks.poisoning import FEATURES, PATTERNS, RedCar
from fedward.core.federation import Federation
from fedward.datasets import DATASETS
from fedward.local import ClassMeans
from fedward.models import MODELS
from fedward.presets import PRESETS
from models.model_examples import inputs, made
from part_examples import ALL_PARTS, FEATURE_EXAMPLES, PATTERN_EXAMPLES, PRESET_EXAMPLES, SLOTS, parts

CHECKS: dict[str, Callable[..., testing.Conformance]] = {
    "sampler": testing.check_sampler,
    "local": testing.check_local_trainer,
    "policy": testing.check_clip_policy,
    "aggregator": testing.check_aggregator,
    "noise": testing.check_mechanism,
    "server": testing.check_server,
}
# Attacks have more to them, and data sets need files: tests/test_attack_conformance.py, tests/datasets.
ATTACKS = {"poisoning", "model poisoning", "who"}


@pytest.mark.parametrize("slot", SLOTS)
def test_every_part_of_a_slot_has_an_example_here(slot: str) -> None:
    registry, examples = SLOTS[slot]
    assert set(registry.values()) == {type(example) for example in examples}
    assert slot in CHECKS or slot in ATTACKS


@pytest.mark.parametrize(
    ("slot", "part"),
    [(slot, part) for slot in CHECKS for part in parts(slot)]
    + [("noise", Correlated(multiplier=1.0, rounds=3)), ("aggregator", ALL_PARTS[-1])],
    ids=str,
)
def test_a_part_keeps_the_promises_of_its_kind(slot: str, part: Any) -> None:
    if isinstance(part, ClassMeans):  # it trains a linear head, and nothing else
        testing.check_local_trainer(part, model=torch.nn.Sequential(torch.nn.Linear(3, 2)))
        return
    CHECKS[slot](part)


@pytest.mark.parametrize("part", ALL_PARTS, ids=repr)
def test_a_part_has_a_docstring_and_fields_by_keyword(part: Any) -> None:
    assert dataclasses.is_dataclass(part)
    assert type(part).__name__ in repr(part)
    assert type(part).__doc__
    assert all(field.kw_only for field in dataclasses.fields(part))
    hash(part)


def test_names_are_what_people_write_in_files() -> None:
    for registry in [*(registry for registry, _ in SLOTS.values()), PRESETS, MODELS, DATASETS]:
        for name, part in registry.items():
            assert name == name.lower()
            assert name.isidentifier()
            assert part.__doc__


def test_every_preset_has_an_example_here() -> None:
    assert PRESET_EXAMPLES.keys() == PRESETS.keys()


@pytest.mark.parametrize("name", PRESET_EXAMPLES)
def test_a_preset_keeps_its_promises_and_so_do_its_parts(name: str) -> None:
    assert PRESET_EXAMPLES[name].name == name
    testing.check_preset(lambda: PRESET_EXAMPLES[name])


@pytest.mark.parametrize("name", MODELS)
def test_a_model_keeps_its_promises(name: str) -> None:
    report = testing.check_model(made(name, num_classes=7), inputs(name, 3), 7)
    assert not report.skipped
    assert made(name, num_classes=7)(inputs(name, 3)).shape == (3, 7)


@pytest.mark.parametrize("feature", FEATURE_EXAMPLES, ids=repr)
def test_a_feature_keeps_its_promises(feature: Any) -> None:
    testing.check_feature(feature)


def test_red_cars_keep_their_promises_on_pictures_with_colours() -> None:
    colours = torch.rand(24, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    colours[::4, 0], colours[::4, 1:] = 0.8, 0.1
    cars = Federation.from_arrays(colours, [1, 0] * 12, [0] * 12 + [1] * 12)
    assert bool(RedCar().mask(cars.user(0)).any())
    testing.check_feature(RedCar(), cars)


@pytest.mark.parametrize("pattern", PATTERN_EXAMPLES, ids=repr)
def test_a_pattern_keeps_its_promises(pattern: Any) -> None:
    testing.check_pattern(pattern)


def test_every_feature_and_pattern_has_an_example_here() -> None:
    assert {type(each) for each in FEATURE_EXAMPLES} | {RedCar} == set(FEATURES.values())
    assert {type(each) for each in PATTERN_EXAMPLES} == set(PATTERNS.values())


def test_every_check_is_public_and_says_what_it_takes() -> None:
    checks = [name for name in testing.__all__ if name.startswith("check_")]
    assert len(checks) == 15
    for name in checks:
        check = getattr(testing, name)
        assert check.__doc__.startswith("Runs every promise of ")
        assert inspect.signature(check).return_annotation == "Conformance"
