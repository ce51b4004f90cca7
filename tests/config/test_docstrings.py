"""What a key means is written once, in a docstring, and everything else reads it there."""

from __future__ import annotations

import pytest

from fedward.config.attack_section import AttackSection
from fedward.config.docstrings import in_short
from fedward.config.experiment import EvaluationSection, PrivacySection
from fedward.config.listing import KINDS, meanings
from fedward.config.sections import Section
from fedward.config.starter.starter import starter
from fedward.presets import PRESETS

CONFIGURED = [
    (kind.name, name) for kind in KINDS.values() if kind.supplied is not None for name in kind.parts
]


@pytest.mark.parametrize(("kind", "name"), CONFIGURED)
def test_every_key_that_a_file_may_give_has_a_meaning(kind: str, name: str) -> None:
    for key in KINDS[kind].defaults(name):
        meaning = KINDS[kind].meaning(name, key)
        assert in_short(meaning), key
        assert meaning.endswith("."), key
        assert "|" not in meaning, key


@pytest.mark.parametrize("section", [AttackSection, PrivacySection, EvaluationSection])
def test_so_has_every_key_of_the_other_tables(section: type[Section]) -> None:
    assert all(field.description for field in section.model_fields.values())


def test_a_part_speaks_before_its_file_and_its_file_before_its_package() -> None:
    meaning = KINDS["preset"].meaning
    assert meaning("norm_bounding", "clip_bound").startswith("S: the longest")
    assert meaning("krum", "clip_bound") == meaning("bulyan", "clip_bound")
    assert meaning("krum", "clip_bound").startswith("every update is cut to it first")
    assert meaning("dopamine", "local") != meaning("local_dp", "local")


@pytest.mark.parametrize("preset", PRESETS)
def test_the_starter_file_and_fedward_show_say_what_the_docstring_says(preset: str) -> None:
    text = starter(preset=preset)[0]
    shown = next(words for kind, words in meanings(preset) if kind.name == "preset")
    for key in KINDS["preset"].defaults(preset):
        words = KINDS["preset"].meaning(preset, key)
        assert " ".join(words.split()) in " ".join(shown.split())
        if f"\n{key} = " in text:
            assert in_short(words) in text
