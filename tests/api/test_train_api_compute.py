from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fedward
from fedward.backends.compute import Compute
from fedward.config.experiment import from_content
from fedward.rundir.store import RunDirectory
from tiny_experiment import CONTENT

SAY_WHEN = ("run.json", "digests.jsonl", ".lock")


def with_table(**table: Any) -> dict[str, Any]:
    return {**CONTENT, "compute": table}


def test_it_is_in_nothing_that_is_stored_or_compared(tmp_path: Path) -> None:
    for name, table in (("one", {"workers": 0}), ("other", {"workers": 1, "engine": "auto"})):
        fedward.train(with_table(**table), out=tmp_path / name, quiet=True)
        assert "compute" not in RunDirectory(tmp_path / name).manifest().experiment
    for file in (tmp_path / "one").iterdir():
        if file.name not in SAY_WHEN:
            assert file.read_bytes() == (tmp_path / "other" / file.name).read_bytes()
    # Both have the same digest, and a run goes on with another table.
    again = fedward.train(with_table(workers=0), changes={"rounds": 3}, out=tmp_path / "other", quiet=True)
    assert again.result is not None
    assert again.result.rounds == 3
    assert from_content(CONTENT).model_dump() == from_content(with_table(workers=0)).model_dump()


def test_what_python_gives_counts_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Compute] = []
    real = Compute.check

    def check(self: Compute) -> Compute:
        used.append(self)
        return real(self)

    monkeypatch.setattr(Compute, "check", check)
    content = with_table(workers=0, engine="generic")
    fedward.train(content, out=tmp_path / "told", quiet=True)
    assert {each.engine for each in used} == {"generic"}
    used.clear()
    fedward.train(content, out=tmp_path / "given", compute=Compute(workers=0), quiet=True)
    assert {each.engine for each in used} == {None}
