"""The page of results is what the records of the experiments make it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "results.md").read_text(encoding="utf8")


def check(root: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(root / "experiments" / "results_page.py"), "--check"]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_page_is_what_the_records_make_it() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


def test_a_record_that_changes_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "results.md").write_text(PAGE, encoding="utf8")
    pictures = shutil.ignore_patterns("*.png", "*.npz", "*.gz", "__pycache__", "runs", "weights")
    shutil.copytree(ROOT / "experiments", tmp_path / "experiments", ignore=pictures)
    file = tmp_path / "experiments" / "xie_tables" / "table_2.json"
    rows = json.loads(file.read_text())
    rows[-1]["accuracy"] += 0.01
    file.write_text(json.dumps(rows))
    done = check(tmp_path)
    assert done.returncode == 1
    assert "results.md is not what the records make it" in done.stderr


def test_every_experiment_has_its_place_on_the_page() -> None:
    folders = {file.parent.name for file in (ROOT / "experiments").glob("*/README.md")}
    named = set(re.findall(r"\(\.\./experiments/(\w+)/README\.md\)", PAGE))
    assert folders == named


def test_links_within_the_page_lead_somewhere() -> None:
    headings = re.findall(r"^#+ (.*)$", PAGE, flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert len(anchors) == len(headings)
    assert set(re.findall(r"\]\(#([^)]*)\)", PAGE)) <= anchors
