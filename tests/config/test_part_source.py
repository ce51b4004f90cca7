"""What is read from the source of parts is what importing them gives, for every part of every kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, get_type_hints

import pytest

from fedward.base.validate import InvalidValue
from fedward.config.attack_section import AttackSection
from fedward.config.experiment import EvaluationSection, Experiment, PrivacySection
from fedward.config.listing import KINDS
from fedward.config.module_source import find_definition, value_of
from fedward.config.part_source import PartSource, read_descriptions, read_parts, read_value
from fedward.config.sections import Section
from fedward.core.types import LocalTrainer
from fedward.local import DPSGD, SGD

REGISTRIES = [
    ("fedward.aggregation", "AGGREGATORS"),
    ("fedward.attacks", "MODEL_POISONINGS"),
    ("fedward.attacks", "POISONINGS"),
    ("fedward.attacks", "WHO"),
    ("fedward.attacks.poisoning", "FEATURES"),
    ("fedward.attacks.poisoning", "PATTERNS"),
    ("fedward.certificates.confidence", "METHODS"),
    ("fedward.clipping", "CLIP_POLICIES"),
    ("fedward.datasets", "DATASETS"),
    ("fedward.local", "LOCAL_TRAINERS"),
    ("fedward.mechanisms", "MECHANISMS"),
    ("fedward.models", "MODELS"),
    ("fedward.presets", "PRESETS"),
    ("fedward.privacy", "ACCOUNTANTS"),
    ("fedward.sampling", "SAMPLERS"),
    ("fedward.server", "SERVERS"),
]
SOURCES = {
    (kind.name, name): source
    for kind in KINDS.values()
    for name, source in kind.parts.items()
    if isinstance(source, PartSource)
}
SECTIONS = [AttackSection, EvaluationSection, Experiment, PrivacySection]


def imported(source: PartSource) -> Callable[..., Any]:
    part: Callable[..., Any] = getattr(import_module(source.module), source.name)
    return part


@pytest.mark.parametrize(("module", "registry"), REGISTRIES)
def test_a_registry_has_the_same_parts_in_the_same_order(module: str, registry: str) -> None:
    real = getattr(import_module(module), registry)
    sources = read_parts(module, registry)
    assert list(sources) == list(real)
    assert all(imported(source) is real[name] for name, source in sources.items())
    assert any(kind.parts == sources for kind in KINDS.values())


@pytest.mark.parametrize("key", SOURCES, ids=" ".join)
def test_a_part_has_the_same_words_keys_and_defaults(key: tuple[str, str]) -> None:
    source = SOURCES[key]
    part = imported(source)
    module = inspect.getmodule(part)
    assert module is not None
    assert source.documentation == inspect.getdoc(part)
    package = import_module(module.__package__ or "")
    assert source.docstrings == tuple(inspect.getdoc(each) or "" for each in (package, module, part))
    parameters = inspect.signature(part).parameters
    assert {name: each.default for name, each in source.keys.items()} == {
        name: each.default for name, each in parameters.items()
    }
    assert list(source.keys) == list(parameters)
    for name, each in source.keys.items():
        assert type(each.default) is type(parameters[name].default)


@pytest.mark.parametrize("preset", KINDS["preset"].parts)
def test_trainers_are_told_apart_by_the_types_that_are_written(preset: str) -> None:
    """A starter gives each preset a trainer that it takes."""
    source = SOURCES["preset", preset]
    hints = get_type_hints(imported(source))
    trainers = {kind: kind.__name__ for kind in (LocalTrainer, SGD, DPSGD)}
    for name, each in source.keys.items():
        assert trainers.get(hints[name]) == (
            each.annotation if each.annotation in trainers.values() else None
        )


@pytest.mark.parametrize("section", SECTIONS)
def test_a_table_has_the_same_words_on_its_keys(section: type[Section]) -> None:
    described = {name: each.description for name, each in section.model_fields.items() if each.description}
    assert read_descriptions("fedward.config.experiment", section.__name__) == described
    assert list(described) == [name for name in section.model_fields if name in described]


def test_a_constant_is_the_same() -> None:
    from fedward.attacks.attack import KNOWLEDGE

    assert read_value("fedward.attacks.attack", "KNOWLEDGE") == KNOWLEDGE


def test_what_cannot_be_read_says_where_it_is() -> None:
    with pytest.raises(InvalidValue, match=r"fedward\.presets has no nothing"):
        find_definition("fedward.presets", "nothing")
    with pytest.raises(InvalidValue, match=r"a value must be written out.* in fedward\.datasets\.mnist"):
        value_of(*find_definition("fedward.datasets.mnist", "MD5"))
    with pytest.raises(InvalidValue, match=r"USERS of .* must be a dictionary that is written out"):
        read_parts("fedward.datasets.idx_images", "USERS")
    with pytest.raises(InvalidValue, match="a part must be a function or a class"):
        _ = PartSource(module="fedward.presets", name="PRESETS").keys
