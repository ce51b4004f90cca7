from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mutation import SOURCE, Misfit, Mutation


def mutation(**changes: Any) -> Mutation:
    fields: dict[str, Any] = {
        "name": "less-for-more",
        "file": "part.py",
        "old": "a < b",
        "new": "a > b",
        "breaks": "the order",
        "tests": ("test_part.py",),
    }
    return Mutation(**(fields | changes))


@pytest.mark.parametrize(("source", "count"), [("a == b", 0), ("a < b\na < b", 2)])
def test_a_text_that_is_not_there_exactly_once_is_named(source: str, count: int) -> None:
    with pytest.raises(
        Misfit, match=rf"less-for-more: .*part\.py must hold 'a < b' exactly once, got {count} times"
    ):
        mutation().apply(source)


def test_it_goes_into_a_copy_and_takes_compiled_code_away(tmp_path: Path) -> None:
    cache = tmp_path / "fedward" / "__pycache__"
    cache.mkdir(parents=True)
    (tmp_path / "fedward" / "part.py").write_text("a < b")
    for name in ("part", "party"):
        (cache / f"{name}.cpython-311.pyc").touch()
    mutation().write(tmp_path)
    assert (tmp_path / "fedward" / "part.py").read_text() == "a > b"
    assert [file.name for file in cache.iterdir()] == ["party.cpython-311.pyc"]


def test_it_never_goes_into_the_source_itself() -> None:
    file = SOURCE / "fedward" / "version.py"
    before = file.read_text()
    with pytest.raises(ValueError, match="must go into a copy"):
        mutation(file="version.py", old="__version__", new="version").write(SOURCE)
    assert file.read_text() == before


@pytest.mark.parametrize("changes", [{"name": "Less for more"}, {"new": "a < b"}, {"tests": ()}])
def test_a_mutation_that_says_too_little_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        mutation(**changes)
