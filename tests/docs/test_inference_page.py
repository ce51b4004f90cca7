"""What the page on inference attacks says is tried out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from fedward.attacks.inference import MEMBERSHIP_ATTACKS
from fedward.commands.infer_command import app
from fedward.config import experiment as config

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/attacks/inference.md").read_text(encoding="utf8")
BLOCKS = re.findall(r"^```python\n(.*?)^```\n```\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


def areas(text: str) -> list[float]:
    return [float(area) for area in re.findall(r"AUC ([\d.]+) \(", text)]


def limits(text: str) -> list[float]:
    return [float(limit) for limit in re.findall(r"at most ([\d.]+)$", text, flags=re.MULTILINE)]


@pytest.mark.parametrize(("block", "printed"), BLOCKS)
def test_every_program_prints_what_the_page_says(
    block: str, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(block, "docs/attacks/inference.md", "exec"), {})
    out = capsys.readouterr().out
    assert len(areas(out)) == len(areas(printed)) == 4
    # Between machines the last bits of trainings differ, and single records change places.
    assert areas(out) == pytest.approx(areas(printed), abs=0.1)
    assert limits(out) == pytest.approx(limits(printed), abs=1e-3)


def test_there_are_programs_on_the_page() -> None:
    assert len(BLOCKS) == 2


def test_the_commands_on_the_page_have_these_options_and_files() -> None:
    group: Any = typer.main.get_command(app)
    known = {option for command in group.commands.values() for each in command.params for option in each.opts}
    assert set(re.findall(r"(?<!-)--[a-z][a-z-]*", PAGE)) <= known
    for kind, file in re.findall(r"^fedward infer (\w+) (\S+)", PAGE, flags=re.MULTILINE):
        assert kind in group.commands
        assert config.read(ROOT / file).attack is None


def test_the_page_names_every_attack() -> None:
    for name in MEMBERSHIP_ATTACKS:
        assert f"| {name} |" in PAGE
