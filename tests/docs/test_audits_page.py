"""What the page on audits says is tried out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

import fedward
from fedward.cli import app
from fedward.config import experiment as config
from fedward.studies.audit.self_test import mutants

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/audits.md").read_text(encoding="utf8")


def test_the_program_on_the_page_runs_with_fewer_trainings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    real = fedward.audit

    def audit(what: str, **options: Any) -> Any:
        small = {"rounds": 1, "model.name": "logistic_regression"}
        return real(ROOT / what, **options | {"runs": 100, "changes": small, "quiet": True})

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fedward, "audit", audit)
    exec(compile(block, "docs/audits.md", "exec"), {})
    assert "no violation" in capsys.readouterr().out


def test_the_commands_on_the_page_have_these_options_and_files() -> None:
    group: Any = typer.main.get_command(app)
    known = {option for each in group.commands["audit"].params for option in each.opts}
    assert set(re.findall(r"(?<![-\w])--[a-z][a-z-]*", PAGE)) <= known | {"--json"}
    for file in re.findall(r"^fedward audit (\S+\.toml)", PAGE, flags=re.MULTILINE):
        assert config.read(ROOT / file).attack is None


def test_the_page_names_every_mutant() -> None:
    for mutant in mutants():
        assert f"| {mutant.name} |" in PAGE
