from __future__ import annotations

from pathlib import Path

import draw_rooms
from check_imports import graph, violations
from rooms import ROOMS, ROOT


def test_the_project_imports_one_way() -> None:
    assert list(violations(ROOT / "src")) == []


def test_an_import_that_goes_up_is_found(tmp_path: Path) -> None:
    package = tmp_path / "fedward" / "core"
    package.mkdir(parents=True)
    (tmp_path / "fedward" / "presets.py").write_text("")
    (package / "round.py").write_text("from fedward import presets\n")
    (package / "train.py").write_text("import fedward.cli\nfrom fedward.sampling import PoissonSampler\n")
    found = list(violations(tmp_path))
    assert len(found) == 3
    assert "fedward.core.round must not import fedward.presets" in found[0]
    assert "train.py:1" in found[1]
    assert "train.py:2" in found[2]


def test_a_hidden_import_goes_up_as_well(tmp_path: Path) -> None:
    package = tmp_path / "fedward" / "privacy"
    package.mkdir(parents=True)
    (package / "ledger.py").write_text("def late():\n    from fedward.reports import page\n")
    (found,) = violations(tmp_path)
    assert "privacy/ledger.py:2" in found


def test_every_room_is_on_the_page() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf8")
    for room in ROOMS:
        if room not in ("version", "fedward", "cli", "__main__", "fedward_command"):
            assert f"`{room}`" in page


def test_the_drawing_of_the_rooms_is_that_of_the_imports() -> None:
    """``python tools/draw_rooms.py`` writes it again."""
    drawn = (ROOT / "docs" / "rooms.svg").read_text(encoding="utf8")
    assert drawn == draw_rooms.drawing(graph(ROOT / "src"))
    assert {room for floor in draw_rooms.FLOORS for room in floor} < set(ROOMS)
