from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def test_the_python_on_the_page_about_reports_works(
    private_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(private_run, tmp_path / "runs" / "user_dp_digits")
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
