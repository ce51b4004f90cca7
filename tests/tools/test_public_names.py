"""Public names are read from the source: all of them, with where they are written and explained."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from public_names import INTERNAL, PublicModule, homes, public_modules

ROOT = Path(__file__).parents[2]
MODULES = {module.name: module for module in public_modules(ROOT)}


@pytest.mark.parametrize("module", MODULES.values(), ids=lambda module: module.name)
def test_a_module_has_all_of_its_names_and_no_other(module: PublicModule) -> None:
    if module.name == "fedward.flower":
        pytest.importorskip("flwr", reason="needs Flower, which is not installed")
    real = importlib.import_module(module.name)
    assert set(getattr(real, "__all__", ())) <= set(module.names)
    for name in module.names:
        first, *rest = name.split(".")
        value = getattr(real, first)
        for each in rest:
            value = getattr(value, each)
        where, _, written = module.definitions[name].rpartition(".")
        if module.definitions[name] not in MODULES:
            assert value is getattr(importlib.import_module(where), written)


def test_every_public_name_has_a_docstring() -> None:
    bare = {
        f"{module.name}.{name}"
        for module in MODULES.values()
        for name, sentence in module.sentences.items()
        if not sentence
    }
    assert bare <= {"fedward.__version__"}


def test_what_several_packages_offer_is_explained_once() -> None:
    explained = homes(list(MODULES.values()))
    assert explained["fedward.SGD"] == explained["fedward.local.SGD"] == "fedward.local"
    assert explained["fedward.train"] == "fedward"
    assert explained["fedward.attacks.POISONINGS"] == "fedward.attacks.poisoning"


def test_internal_packages_are_there_and_have_no_page() -> None:
    for name in INTERNAL:
        assert (ROOT / "src" / name.replace(".", "/") / "__init__.py").is_file()
    assert not INTERNAL.keys() & MODULES.keys()
