"""Two directories of one study, compared file by file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

SAY_WHEN = ("run.json", "digests.jsonl")


def require_same(here: Path, there: Path, at_least: int, apart_from: Collection[str] = SAY_WHEN) -> None:
    """Raises unless both hold more than so many files of the same names, bytes and modes."""
    files = sorted(each.relative_to(here) for each in here.rglob("*"))
    compared = [each for each in files if each.suffix not in ("", ".png") and each.name not in apart_from]
    assert len(compared) > at_least
    for each in compared:
        if (here / each).is_file():
            assert (here / each).read_bytes() == (there / each).read_bytes(), each
    modes = [(path / each).stat().st_mode for path in (here, there) for each in compared]
    assert modes[: len(compared)] == modes[len(compared) :]
