from __future__ import annotations

from pathlib import Path

import pytest

from imports_of_tests import EXCEPTIONS, violations_of_tests
from rooms import ROOT

ROOM_OF = {"core": "round", "rundir": "store", "config": "experiment", "reports": "page"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project that keeps the rules: a room below, two above, a helper and a tool."""
    write(tmp_path, "tools/draw.py", "")
    write(tmp_path, "tests/support.py", "import fedward.core.round\n")
    write(tmp_path, "tests/core/test_round.py", "import support\nimport fedward\n")
    write(tmp_path, "tests/rundir/stored.py", "import fedward.rundir.store\n")
    write(
        tmp_path, "tests/rundir/test_store.py", "from rundir.stored import x\nimport fedward.reports.page\n"
    )
    write(tmp_path, "tests/docs/test_any.py", "import draw, fedward.reports.page\n")
    write(tmp_path, "src/fedward/__init__.py", "")
    for room, module in ROOM_OF.items():
        write(tmp_path, f"src/fedward/{room}/{module}.py", "")
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_tests_and_tools_of_the_project_keep_the_rules() -> None:
    assert list(violations_of_tests(ROOT)) == []


def test_every_exception_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = set(EXCEPTIONS)
    monkeypatch.setattr("imports_of_tests.EXCEPTIONS", {})
    assert {each.split(":")[0] for each in violations_of_tests(ROOT)} == needed
    assert len(needed) < 12


def test_a_project_that_keeps_the_rules_has_no_violations(project: Path) -> None:
    assert list(violations_of_tests(project)) == []


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "tests/core/test_round.py",
            "import fedward.rundir.store\n",
            "tests/core/test_round.py: tests of core must not import fedward.rundir.store, a floor above",
        ),
        (
            "tests/config/test_experiment.py",
            "def late():\n    from rundir import stored\n",
            "must not import fedward.rundir.store, a floor above (through rundir.stored)",
        ),
        ("tests/core/test_train.py", "from core.test_round import x\n", "what two tests share is a helper"),
        ("tools/draw.py", "import support\n", "draw must not import support: tools know no tests"),
        ("src/fedward/core/round.py", "import draw\n", "fedward.core.round must not import draw"),
        ("src/fedward/core/round.py", "from rundir.stored import x\n", "it is no part of fedward"),
    ],
)
def test_an_import_that_goes_the_wrong_way_is_found(
    project: Path, name: str, text: str, message: str
) -> None:
    write(project, name, text)
    found = list(violations_of_tests(project))
    assert len(found) == 1
    assert message in found[0]


def test_a_circle_is_found(project: Path) -> None:
    write(project, "tests/rundir/stored.py", "import rundir.killed\n")
    write(project, "tests/rundir/killed.py", "from rundir import stored\n")
    write(project, "tests/rundir/test_other.py", "import rundir.killed\n")
    assert list(violations_of_tests(project)) == [
        "rundir.killed, rundir.stored import each other in a circle"
    ]
