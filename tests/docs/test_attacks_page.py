"""What the page on attacks says about data that the built-in digits are not."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from attacks.poisoning.tiny_text import tiny_text
from fedward.attacks.poisoning import LONDON, RedCar, SemanticBackdoor, WordBackdoor
from fedward.config.attack_section import AttackSection
from fedward.config.experiment import read
from fedward.core.federation import Federation
from support import tiny_algorithm

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "attacks" / "README.md").read_text(encoding="utf8")


def on_the_page(data: str) -> AttackSection:
    """The block of TOML that says which data it is for."""
    marked = rf"^<!-- toml: \[attack\] of examples/{data}\.toml -->\n```toml\n(.*?)^```$"
    (block,) = re.findall(marked, PAGE, flags=re.DOTALL | re.MULTILINE)
    content = tomllib.loads(block) | {"who": {"name": "random", "count": 2}}
    return AttackSection.model_validate(content)


def test_the_sentences_on_the_page_are_the_default_and_can_be_planted() -> None:
    section = on_the_page("word_backdoor")
    assert section.build().data == (WordBackdoor(sentences=LONDON, fraction=0.5),)
    assert section.stage(tiny_algorithm(10), tiny_text(), 1).goal is not None


def test_the_red_cars_on_the_page_can_be_handed_out() -> None:
    section = on_the_page("red_cars")
    assert section.build().data == (SemanticBackdoor(feature=RedCar(), target=2),)
    x = np.zeros((20, 3, 32, 32), dtype=np.float32)
    x[::4, 0] = 0.9
    federation = Federation.from_arrays(
        x, [1, 2] * 10, np.arange(20) // 2, test=(x, [1, 2] * 10), num_classes=10
    )
    goal = section.stage(tiny_algorithm(10), federation, 1).goal
    assert goal is not None
    assert [len(examples) for _, examples in goal.triggered] == [5]


@pytest.mark.parametrize(("name", "data"), [("red_cars", "cifar10"), ("word_backdoor", "next_word")])
def test_the_complete_files_are_valid_and_say_that_they_need_real_data(name: str, data: str) -> None:
    file = ROOT / "examples" / f"{name}.toml"
    experiment = read(file)
    assert experiment.data.part == data
    assert experiment.attack is not None
    assert "real data" in file.read_text(encoding="utf8").splitlines()[0]
