from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "check_imports.py"))


def test_the_project_imports_one_way() -> None:
    assert list(TOOL["violations"](ROOT / "src")) == []


def test_an_import_that_goes_up_is_found(tmp_path: Path) -> None:
    package = tmp_path / "fedward" / "core"
    package.mkdir(parents=True)
    (tmp_path / "fedward" / "presets.py").write_text("")
    (package / "round.py").write_text("from fedward import presets\n")
    (package / "train.py").write_text("import fedward.cli\nfrom fedward.sampling import PoissonSampler\n")
    found = list(TOOL["violations"](tmp_path))
    assert len(found) == 3
    assert "fedward.core.round must not import fedward.presets" in found[0]
    assert "train.py:1" in found[1]
    assert "train.py:2" in found[2]
