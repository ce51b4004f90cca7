from __future__ import annotations

import re
from pathlib import Path

import pytest

from fedward.config.experiment import from_content
from fedward.studies.training.training_study import prepare
from studies.killing import run_to_end
from tiny_experiment import CONTENT

ROOT = Path(__file__).parents[2]


def test_the_python_on_the_page_about_reports_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_to_end(prepare(from_content(CONTENT)), tmp_path / "runs" / "user_dp_digits")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    exec(compile(block, "docs/report.md", "exec"), {})
    assert "(ε = " in capsys.readouterr().out


def test_the_pictures_of_the_page_are_there_and_are_made_by_its_script() -> None:
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf8")
    script = (ROOT / "docs" / "make_report_pictures.py").read_text(encoding="utf8")
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert len(pictures) == 3
    for picture in pictures:
        assert (ROOT / "docs" / picture).is_file()
        assert f'"{picture}"' in script
